/// Which learning rate each parameter has, and whether it decays: train.freeze, train.lr_scale and
/// train.optimizer.decay, as PyTorch's requires_grad and parameter groups.
#pragma once

#include "core/config/training.hpp"
#include "core/config/validate.hpp"
#include "core/device/executable.hpp"
#include "core/graph/graph.hpp"

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

/// How a parameter is trained.
struct ParameterRate {
  double factor = 1;  ///< multiplies the learning rate; 0: it is frozen
  bool decays = true; ///< by the weight decay

  constexpr ParameterRate() = default;
  // Implicit: a factor alone says all where everything decays.
  constexpr ParameterRate(double factor_, bool decays_ = true) : factor{factor_}, decays{decays_} {}
  bool operator==(const ParameterRate&) const = default;
};

/// Of every parameter of a layout: train.freeze, train.lr_scale and train.optimizer.decay.
std::vector<ParameterRate> parameter_rates(const TrainConfig& train, const StorageLayout& layout);

/// Whether weight decay is for a parameter of this shape.
bool decays(const OptimizerConfig& optimizer, const Shape& shape);

/// What multiplies the learning rate of each parameter; 0: it is frozen. Of several names in
/// lr_scale that it belongs to, the one with the fewest parameters decides.
std::vector<double> rate_factors(const TrainConfig& train,
                                 std::span<const ParameterName> parameters);

/// Names that the model does not have or that have no parameters; nothing left to train; factors
/// that change nothing, or two for one thing.
ConfigConflicts find_rate_conflicts(const TrainConfig& train, const Graph& forward);

} // namespace troupe::nn
