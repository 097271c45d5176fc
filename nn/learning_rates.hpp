/// Learning rate and weight decay of each parameter: train.freeze, train.lr_scale and
/// train.optimizer.weight_decay, the equivalents of PyTorch's requires_grad and parameter groups.
#pragma once

#include "core/config/train.hpp"
#include "core/config/validate.hpp"
#include "core/device/executable.hpp"
#include "core/graph/graph.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn {

/// A parameter and its unit.
struct ParameterName {
  std::string_view name, unit;
};

std::vector<ParameterName> parameter_names(const Graph& graph);
std::vector<ParameterName> parameter_names(const StorageLayout& layout);

/// Returns whether a name in a config includes a parameter. The name is that of a unit ("stem"), a
/// prefix of several units ("layer1"), or a module ("layer1.0.conv1", "fc").
bool belongs_to(const ParameterName& parameter, std::string_view name);
bool is_frozen(const ParameterName& parameter, const std::vector<std::string>& freeze);

/// Learning rate and weight decay of a parameter.
struct ParameterRate {
  double factor = 1;  ///< multiplies the learning rate; 0: frozen
  bool decays = true; ///< subject to weight decay

  constexpr ParameterRate() = default;
  // Implicit: a factor suffices if every parameter decays.
  constexpr ParameterRate(double factor_, bool decays_ = true) : factor{factor_}, decays{decays_} {}
  bool operator==(const ParameterRate&) const = default;
};

/// Returns the rates of all parameters of a layout, from train.freeze, train.lr_scale and
/// train.optimizer.weight_decay.
std::vector<ParameterRate> parameter_rates(const TrainConfig& train, const StorageLayout& layout);

/// Returns whether weight decay applies to a parameter of this shape.
bool decays(const OptimizerConfig& optimizer, const Shape& shape);

/// Returns the factor of the learning rate for each parameter; 0 if it is frozen. If several names
/// in lr_scale include a parameter, the one with the fewest parameters applies.
std::vector<double> rate_factors(const TrainConfig& train,
                                 std::span<const ParameterName> parameters);

/// Returns conflicts: names that the model does not have or that have no parameters, a model
/// without trained parameters, factors without effect, and two factors for the same parameters.
ConfigConflicts find_rate_conflicts(const TrainConfig& train, const Graph& forward);

} // namespace troupe::nn
