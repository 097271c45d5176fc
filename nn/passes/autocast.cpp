#include "autocast.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace troupe::nn {

namespace {

bool is_castable(const Tensor& tensor) {
  return (tensor.role == Role::activation || tensor.role == Role::input) &&
         (tensor.dtype == DType::f32 || tensor.dtype == DType::bf16 || tensor.dtype == DType::f16);
}

class Autocaster {
public:
  Autocaster(const Graph& forward, DType compute)
      : graph_{forward}, compute_{compute}, casts_(forward.tensors.size(), -1) {}

  Graph run() && {
    const auto nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (auto node : nodes) {
      if (node.op == Op::cast) {
        graph_.add_node(std::move(node));
        continue;
      }
      const auto dtype = type_of(node);
      for (auto& id : node.inputs)
        id = cast(id, dtype, node.unit);
      // The first output alone: saved statistics and indices keep their types.
      if (dtype == compute_)
        graph_[node.outputs[0]].dtype = dtype;
      graph_.add_node(std::move(node));
    }
    return std::move(graph_);
  }

private:
  DType type_of(const Node& node) const {
    switch (node.op) {
    case Op::conv2d:
    case Op::matmul:
      return compute_;
    case Op::softmax_cross_entropy:
    case Op::mean_squared_error:
    case Op::count_correct:
      return DType::f32;
    default:
      return std::ranges::any_of(node.inputs,
                                 [this](TensorId id) {
                                   return is_castable(graph_[id]) && graph_[id].dtype != compute_;
                                 })
                 ? DType::f32
                 : compute_;
    }
  }

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
  DType compute_;
  std::vector<TensorId> casts_;
};

} // namespace

Graph autocast(const Graph& forward, DType compute) {
  return Autocaster{forward, compute}.run();
}

} // namespace troupe::nn
