/// What a process does for its job, as whoever watches it sees it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::metrics {

enum class JobPhase : std::uint8_t {
  waiting,    ///< for other nodes, or for a job to join
  starting,   ///< loads data, compiles, connects
  training,   //
  evaluating, //
  saving,     ///< copies what a checkpoint is made of; the last one is also written
  completed,  ///< this and the next two are ends
  failed,
  stopped
};

inline constexpr std::array<std::string_view, 8> job_phase_names = {
    "waiting", "starting", "training", "evaluating", "saving", "completed", "failed", "stopped"};

constexpr std::string_view to_string(JobPhase phase) {
  return job_phase_names[static_cast<std::size_t>(phase)];
}

/// Whether the job is under way: it does what it is there for.
constexpr bool is_at_work(JobPhase phase) {
  return phase >= JobPhase::training && phase <= JobPhase::saving;
}

constexpr bool has_ended(JobPhase phase) {
  return phase >= JobPhase::completed;
}

/// The phase for a summary's status: completed, failed or stopped.
constexpr JobPhase ended_as(std::string_view status) {
  return status == "completed" ? JobPhase::completed
         : status == "stopped" ? JobPhase::stopped
                               : JobPhase::failed;
}

} // namespace troupe::metrics
