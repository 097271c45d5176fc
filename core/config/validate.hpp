/// Checks of several keys together, or of keys against the machine. Checks of one key are its rule
/// in keys.cpp.
#pragma once

#include "core/config/capabilities.hpp"
#include "core/config/forward.hpp"
#include "core/config/problem.hpp"

#include <string>
#include <vector>

namespace troupe {

struct ConfigConflict {
  std::vector<std::string> keys; ///< all keys involved, the one to report first
  std::string what;
  std::string allowed = {};
  std::string suggestion = {};
};
using ConfigConflicts = std::vector<ConfigConflict>;

/// Combines all conflicts into one Errc::invalid_input, one line each; success if there are none.
Status to_status(ConfigConflicts conflicts);

ConfigConflicts validate(const ModelConfig& model, const DataConfig& data);
ConfigConflicts validate(const DataConfig& data);
ConfigConflicts validate(const OptimizerConfig& optimizer);
ConfigConflicts validate(const ScheduleConfig& schedule, const TrainConfig& train);
ConfigConflicts validate(const TrainConfig& train, const DataConfig& data);
ConfigConflicts validate(const TrainConfig& train, const ModelConfig& model);
ConfigConflicts validate(const PrecisionConfig& precision, const DevicesConfig& devices,
                         const Capabilities& capabilities);
ConfigConflicts validate(const DevicesConfig& devices, const Capabilities& capabilities);
ConfigConflicts validate(const ParallelConfig& parallel, const Config& config,
                         const Capabilities& capabilities);
ConfigConflicts validate(const OffloadConfig& offload, const Config& config,
                         const Capabilities& capabilities);
ConfigConflicts validate(const ClusterConfig& cluster, const MetricsConfig& metrics);

/// Runs all checks above and those of the models.
ConfigConflicts find_conflicts(const Config& config, const Capabilities& capabilities,
                               const Catalogue& catalogue);

/// Checks the rules of every key, then conflicts: for configs made in code. Empty: the config is
/// valid.
std::vector<ConfigProblem> validate(const Config& config, const Capabilities& capabilities,
                                    const Catalogue& catalogue);

} // namespace troupe
