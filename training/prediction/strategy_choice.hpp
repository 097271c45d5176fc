/// Which strategies a job could have, and which one fits best (`troupe plan`).
#pragma once

#include "training/prediction/memory_prediction.hpp"

#include <span>
#include <string>
#include <vector>

namespace troupe::training {

/// What is to be compared: every strategy that so many workers can have (hsdp and diloco where the
/// config's groups and teams divide them) without offload, then the config's with its offload, if
/// it has one. Unless that is fsdp, fsdp with everything offloaded ("fsdp_offload") follows, where
/// the host's memory is not the device's. What else the config says may refuse some of them
/// (find_conflicts).
std::vector<ParallelConfig> alternatives(const WorkerNeeds& needs, const ParallelConfig& parallel);
std::vector<Prediction> predict_all(const WorkerNeeds& needs,
                                    std::span<const ParallelConfig> alternatives);

struct Recommendation {
  std::string strategy; ///< empty: none fits
  std::string reason;
};

/// The questions of FairScale's flow chart ("Getting started"), from what costs least to what saves
/// most: replicate (DDP) what fits; else divide the optimizer's state (OSS), gradients too
/// (ShardedDDP), parameters too (FSDP); else all that in the host's memory.
Recommendation recommend(std::span<const Prediction> predictions);

} // namespace troupe::training
