#include "autocast_bf16.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

namespace {

/// Losses add up many small terms; everything else that can be differentiated runs in bf16.
bool runs_in_bf16(Op op) {
  return op != Op::softmax_cross_entropy && op != Op::mean_squared_error && op != Op::count_correct;
}

bool is_castable(const Tensor& tensor) {
  return (tensor.role == Role::activation || tensor.role == Role::input) &&
         (tensor.dtype == DType::f32 || tensor.dtype == DType::bf16);
}

class Autocaster {
public:
  explicit Autocaster(const Graph& forward) : graph_{forward}, casts_(forward.tensors.size(), -1) {}

  Graph run() && {
    const auto nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (auto node : nodes) {
      if (node.op == Op::cast) {
        graph_.add_node(std::move(node));
        continue;
      }
      const auto dtype = runs_in_bf16(node.op) ? DType::bf16 : DType::f32;
      for (auto& id : node.inputs)
        id = cast(id, dtype, node.unit);
      // The first output alone: saved statistics and indices keep their types.
      if (dtype == DType::bf16)
        graph_[node.outputs[0]].dtype = dtype;
      graph_.add_node(std::move(node));
    }
    return std::move(graph_);
  }

private:
  /// The tensor in this dtype, casting it at its first use.
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
  std::vector<TensorId> casts_;
};

} // namespace

Graph autocast_bf16(const Graph& forward) {
  return Autocaster{forward}.run();
}

} // namespace troupe::nn
