/// Which learning rate each parameter has: train.freeze and train.lr_scale, as PyTorch's
/// requires_grad and parameter groups.
#pragma once

#include "troupe/core/config/training.hpp"
#include "troupe/core/config/validate.hpp"
#include "troupe/core/device/executable.hpp"
#include "troupe/core/graph/graph.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn {

/// A parameter, and the unit that it lies in.
struct ParameterName {
  std::string_view name, unit;
};

std::vector<ParameterName> parameter_names(const Graph& graph);
std::vector<ParameterName> parameter_names(const StorageLayout& layout);

/// Whether a parameter belongs to what a config calls by this name: a unit ("stem"), what is around
/// some ("layer1"), or a module ("layer1.0.conv1", "fc").
bool belongs_to(const ParameterName& parameter, std::string_view name);
bool is_frozen(const ParameterName& parameter, const std::vector<std::string>& freeze);

/// What multiplies the learning rate of each parameter; 0: it is frozen. Of several names in
/// lr_scale that it belongs to, the one with the fewest parameters decides.
std::vector<double> rate_factors(const TrainConfig& train,
                                 std::span<const ParameterName> parameters);

/// Names that the model does not have or that have no parameters; nothing left to train; factors
/// that change nothing, or two for one thing.
ConfigConflicts find_rate_conflicts(const TrainConfig& train, const Graph& forward);

} // namespace troupe::nn
