/// Phases of a process in its job.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::metrics {

enum class JobPhase : std::uint8_t {
  waiting,    ///< for other nodes, or to join a job
  starting,   ///< loads data, compiles, connects
  training,   //
  evaluating, //
  saving,     ///< copies the state for a checkpoint; also writes the last one
  completed,  ///< this and the next two are final
  failed,
  stopped
};

inline constexpr std::array<std::string_view, 8> job_phase_names = {
    "waiting", "starting", "training", "evaluating", "saving", "completed", "failed", "stopped"};

constexpr std::string_view to_string(JobPhase phase) {
  return job_phase_names[static_cast<std::size_t>(phase)];
}

/// Whether the job trains, evaluates or saves.
constexpr bool is_at_work(JobPhase phase) {
  return phase >= JobPhase::training && phase <= JobPhase::saving;
}

constexpr bool has_ended(JobPhase phase) {
  return phase >= JobPhase::completed;
}

/// Returns the phase for the status of a summary: completed, failed or stopped.
constexpr JobPhase ended_as(std::string_view status) {
  return status == "completed" ? JobPhase::completed
         : status == "stopped" ? JobPhase::stopped
                               : JobPhase::failed;
}

} // namespace troupe::metrics
