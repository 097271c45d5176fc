#include "nn/passes/autocast.hpp"

#include "nn/modules.hpp"
#include "nn/ops/table.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace troupe::nn {

namespace {

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

} // namespace troupe::nn
