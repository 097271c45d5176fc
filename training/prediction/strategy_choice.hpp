/// Lists the strategies that a job could use, and recommends one (`troupe plan`).
#pragma once

#include "training/prediction/memory_prediction.hpp"

#include <span>
#include <string>
#include <vector>

namespace troupe::training {

/// Returns the strategies to compare:
/// - without offload, every strategy possible with this many workers (hsdp and diloco if the
///   config's groups divide them);
/// - the config's own, if it offloads;
/// - fsdp with everything offloaded ("fsdp_offload"), unless that is the config's or device and
///   host share one memory.
///
/// Other config keys may refuse some of them (find_conflicts).
std::vector<ParallelConfig> alternatives(const WorkerNeeds& needs, const ParallelConfig& parallel);

struct Recommendation {
  std::string strategy; ///< empty: none fits
  std::string reason;
};

/// Follows FairScale's flow chart ("Getting started"), from the cheapest to the one that saves
/// most: replicate (DDP) if it fits; else divide the optimizer's state (OSS), gradients too
/// (ShardedDDP), parameters too (FSDP); else offload all of it to the host's memory.
Recommendation recommend(std::span<const Prediction> predictions);

} // namespace troupe::training
