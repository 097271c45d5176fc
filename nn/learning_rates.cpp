#include "nn/learning_rates.hpp"

#include "core/escape.hpp"
#include "core/suggestion.hpp"
#include "nn/modules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace troupe::nn {

namespace {

using Names = std::vector<std::string>;
using NamedParameters = std::span<const ParameterName>;

std::string_view module_name(const ParameterName& parameter) {
  return parameter.name.substr(0, parameter.name.rfind('.'));
}

std::ptrdiff_t count(NamedParameters parameters, std::string_view name) {
  return std::ranges::count_if(parameters,
                               [&](const auto& parameter) { return belongs_to(parameter, name); });
}

/// Returns the modules that have parameters and their parents: "layer1", "layer1.0",
/// "layer1.0.conv1".
Names modules_with_parameters(NamedParameters parameters) {
  Names modules;
  for (const auto& parameter : parameters)
    for (const auto full : {parameter.unit, module_name(parameter)})
      modules.emplace_back(full);
  return with_parents(modules);
}

/// Checks the names of one key.
class NamesCheck {
public:
  NamesCheck(std::string key, NamedParameters parameters, const Names& known,
             ConfigConflicts& found)
      : key_{std::move(key)}, parameters_{parameters}, known_{known}, found_{found} {}

  /// Returns whether the name includes parameters; adds a conflict if not.
  bool knows(const std::string& name) {
    if (count(parameters_, name) > 0)
      return true;
    refuse(fmt::format("the model has no unit or module \"{}\" with parameters", echoed(name)),
           fmt::format("{}, and the units and modules inside them",
                       fmt::join(outermost(known_), ", ")),
           suggest(name, known_));
    return false;
  }
  void refuse(std::string what, std::string allowed, std::string suggestion = {}) {
    found_.push_back(
        {{key_, "model.name"}, std::move(what), std::move(allowed), std::move(suggestion)});
  }

private:
  std::string key_;
  NamedParameters parameters_;
  const Names& known_;
  ConfigConflicts& found_;
};

void check_freeze(const Names& freeze, NamedParameters parameters, NamesCheck check) {
  for (const auto& name : freeze)
    check.knows(name);
  const auto frozen = [&](const auto& parameter) { return is_frozen(parameter, freeze); };
  if (!parameters.empty() && std::ranges::all_of(parameters, frozen))
    check.refuse("the whole model is frozen: nothing would be trained",
                 "names that leave a part of the model trainable");
}

void check_scale(const TrainConfig& train, const std::string& name, NamedParameters parameters,
                 NamesCheck& check) {
  const auto belongs = [&](const auto& parameter) { return belongs_to(parameter, name); };
  if (std::ranges::all_of(parameters, [&](const auto& parameter) {
        return !belongs(parameter) || is_frozen(parameter, train.freeze);
      }))
    check.refuse(fmt::format("{} is frozen (train.freeze): it has no learning rate", name),
                 "names of trained parts of the model");
  const auto is_same = [&](const std::string& other) {
    return std::ranges::all_of(parameters, [&](const auto& parameter) {
      return belongs(parameter) == belongs_to(parameter, other);
    });
  };
  for (const auto& [other, factor] : train.lr_scale)
    if (other < name && is_same(other))
      check.refuse(fmt::format("{} and {} contain the same parameters", other, name),
                   "one of them");
}

} // namespace

std::vector<ParameterName> parameter_names(const Graph& graph) {
  std::vector<ParameterName> names;
  for (const auto id : graph.with_role(Role::parameter))
    names.push_back({graph[id].name, graph.units[static_cast<std::size_t>(graph[id].unit)]});
  return names;
}

std::vector<ParameterName> parameter_names(const StorageLayout& layout) {
  std::vector<ParameterName> names;
  for (const auto& slot : layout.parameters)
    names.push_back({slot.name, layout.unit_names[static_cast<std::size_t>(slot.unit)]});
  return names;
}

bool belongs_to(const ParameterName& parameter, std::string_view name) {
  return is_within(parameter.unit, name) || is_within(module_name(parameter), name);
}

bool is_frozen(const ParameterName& parameter, const std::vector<std::string>& freeze) {
  return std::ranges::any_of(freeze, [&](const auto& name) { return belongs_to(parameter, name); });
}

std::vector<double> rate_factors(const TrainConfig& train, NamedParameters parameters) {
  std::vector<double> factors(parameters.size(), 1);
  std::vector<std::ptrdiff_t> fewest(parameters.size(), std::numeric_limits<std::ptrdiff_t>::max());
  for (const auto& [name, factor] : train.lr_scale) {
    const auto parts = count(parameters, name);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (belongs_to(parameters[i], name) && parts < fewest[i]) {
        factors[i] = factor;
        fewest[i] = parts;
      }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (is_frozen(parameters[i], train.freeze))
      factors[i] = 0;
  return factors;
}

bool decays(const OptimizerConfig& optimizer, const Shape& shape) {
  return optimizer.decay == DecayScope::all || shape.rank() > 1;
}

std::vector<ParameterRate> parameter_rates(const TrainConfig& train, const StorageLayout& layout) {
  std::vector<ParameterRate> rates;
  for (const double factor : rate_factors(train, parameter_names(layout)))
    rates.push_back({factor, decays(train.optimizer, layout.parameters[rates.size()].shape)});
  return rates;
}

ConfigConflicts find_rate_conflicts(const TrainConfig& train, const Graph& forward) {
  ConfigConflicts found;
  if (train.freeze.empty() && train.lr_scale.empty())
    return found;
  const auto parameters = parameter_names(forward);
  const auto known = modules_with_parameters(parameters);
  check_freeze(train.freeze, parameters, {"train.freeze", parameters, known, found});
  NamesCheck check{"train.lr_scale", parameters, known, found};
  for (const auto& [name, factor] : train.lr_scale)
    if (check.knows(name))
      check_scale(train, name, parameters, check);
  return found;
}

} // namespace troupe::nn
