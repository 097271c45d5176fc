/// Jobs in one process, for programs without actors.
#pragma once

#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "training/generation.hpp"

namespace troupe::training {

/// As the other open_job, on the leader, with data that is opened here. Errors also: those of
/// open_data.
inline Result<std::shared_ptr<const Job>> open_job(const Config& config,
                                                   const ResumePoint& resume_point) {
  TROUPE_TRY(const auto data, open_data(config));
  return open_job(config, data, resume_point, true);
}

/// Compiles a job and builds its first generation. Errors: those of find_resume_point, open_job,
/// compile_job and build_generation.
inline Result<std::shared_ptr<Generation>> build_single_node_generation(const Config& config) {
  TROUPE_TRY(auto resume_point, find_resume_point(config, run_folder(config)));
  TROUPE_TRY(auto job, open_job(config, resume_point));
  const auto workers = static_cast<std::int32_t>(config.devices.count);
  TROUPE_TRY(const auto compiled_job,
             compile_job(std::move(job), config.slices(), std::move(resume_point.state)));
  return build_generation(compiled_job, single_node_assignment(workers, host_name()));
}

} // namespace troupe::training
