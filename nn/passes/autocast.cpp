#include "nn/passes/autocast.hpp"

#include "core/escape.hpp"
#include "core/suggestion.hpp"
#include "nn/modules.hpp"
#include "nn/ops/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace troupe::nn {

namespace {

bool switches_on(std::string_view entry) {
  return entry.starts_with('-');
}

std::string_view name_of(std::string_view entry) {
  return switches_on(entry) ? entry.substr(1) : entry;
}

/// Returns the parent of a module; empty for an outermost one.
std::string_view parent(std::string_view module) {
  const auto dot = module.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : module.substr(0, dot);
}

ConfigConflict conflict(std::string what, std::string allowed, std::string suggestion = {}) {
  return {{"model.autocast_off", "model.name"},
          std::move(what),
          std::move(allowed),
          std::move(suggestion)};
}

bool is_castable(const Tensor& tensor) {
  return (tensor.role == Role::activation || tensor.role == Role::input) &&
         (tensor.dtype == DType::f32 || tensor.dtype == DType::bf16 || tensor.dtype == DType::f16);
}

AutocastRule rule_of(const Node& forward) {
  return record_of(forward.op).autocast->rule;
}

class Autocaster {
public:
  Autocaster(const Graph& forward, DType compute, const AutocastRegions& off)
      : graph_{forward}, compute_{compute}, off_{off}, casts_(forward.tensors.size(), -1) {}

  Graph run() && {
    const auto nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (auto node : nodes) {
      if (rule_of(node) != AutocastRule::given) {
        const auto dtype = type_of(node);
        // Weights are rounded when they are read, including those shared as activations.
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
          if (!record_of(node.op).rounded.contains(i))
            node.inputs[i] = cast(node.inputs[i], dtype, node.unit);
        // Only the first output: saved statistics, indices and losses keep their types.
        if (dtype == compute_ && is_castable(graph_[node.outputs[0]]))
          graph_[node.outputs[0]].dtype = dtype;
      }
      graph_.add_node(std::move(node));
    }
    return std::move(graph_);
  }

private:
  DType type_of(const Node& node) const {
    if (!is_autocast(module_of(graph_, node), off_))
      return DType::f32;
    switch (rule_of(node)) {
    case AutocastRule::lower_precision:
      return compute_;
    case AutocastRule::follow:
      return graph_[node.inputs[0]].dtype;
    case AutocastRule::widest:
      return std::ranges::any_of(node.inputs,
                                 [this](TensorId id) {
                                   return is_castable(graph_[id]) && graph_[id].dtype != compute_;
                                 })
                 ? DType::f32
                 : compute_;
    default:
      return DType::f32;
    }
  }

  /// Returns the tensor in this dtype and casts it at its first use.
  TensorId cast(TensorId id, DType dtype, UnitId unit) {
    if (!is_castable(graph_[id]) || graph_[id].dtype == dtype)
      return id;
    auto& known = casts_[static_cast<std::size_t>(id)];
    if (known < 0) {
      const auto name = graph_[id].name + "." + std::string{to_string(dtype)};
      known = graph_.add_tensor({name, graph_[id].shape, dtype, Role::activation, unit});
      graph_.add_node({Op::cast, {id}, {known}, {}, Phase::forward, unit});
    }
    return known;
  }

  Graph graph_;
  DType compute_;
  const AutocastRegions& off_;
  std::vector<TensorId> casts_; ///< cast in the other type, by TensorId; -1: none yet
};

} // namespace

Graph autocast(const Graph& forward, DType compute, const AutocastRegions& off) {
  return Autocaster{forward, compute, off}.run();
}

bool is_autocast(std::string_view module, const AutocastRegions& off) {
  std::string_view innermost;
  for (const std::string_view entry : off)
    if (is_within(module, name_of(entry)) && name_of(entry).size() > name_of(innermost).size())
      innermost = entry;
  return innermost.empty() || switches_on(innermost);
}

ConfigConflicts find_conflicts(const AutocastRegions& off, const Graph& forward) {
  ConfigConflicts found;
  const auto modules = module_names(forward);
  for (auto entry = off.begin(); entry != off.end(); ++entry) {
    const auto name = std::string{name_of(*entry)};
    const auto same = [&](const auto& other) { return name_of(other) == name; };
    if (std::ranges::count(modules, name) == 0)
      found.push_back(conflict(
          fmt::format("the model has no module \"{}\"", echoed(name)),
          fmt::format("{}, and the modules inside them", fmt::join(outermost(modules), ", ")),
          suggest(name, modules)));
    else if (std::any_of(off.begin(), entry, same))
      found.push_back(conflict(fmt::format("{} is listed twice", name), "each name once"));
    else if (is_autocast(parent(name), off) == switches_on(*entry))
      found.push_back(conflict(
          fmt::format("autocast is already {} around {}", switches_on(*entry) ? "on" : "off", name),
          "\"-NAME\" inside a module where autocast is off, NAME where it is on"));
  }
  return found;
}

} // namespace troupe::nn
