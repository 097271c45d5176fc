/// Where the time of a training step goes (`troupe train --profile`).
#pragma once

#include "core/config/forward.hpp"
#include "training/profile/profile_rows.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::training {

struct ProfileOptions {
  int warm_up_steps = 3, steps = 5;
  bool by_shape = false; ///< one row for each op and shape; else for each op
  SayLine say = {};
};

struct StepProfile {
  std::string device, arithmetic;
  DeviceLimits limits;
  std::int64_t samples = 0; ///< of a step
  int steps = 0;            ///< measured
  double seconds = 0;       ///< mean of a step; the rows add up to it
  std::vector<ProfileRow> rows;
};

/// Trains some steps from the seed, on batches that are ready before each step begins, and writes
/// no files. Blocks. Errors: invalid_input if the config has several workers or a strategy that
/// updates apart from the step; those of open_job, compile_job and build_generation; unsupported
/// for an engine that does not time its steps.
Result<StepProfile> profile_step(Config config, const ProfileOptions& options);

} // namespace troupe::training
