#include "nn/passes/drop_casts.hpp"

#include "nn/passes/detail/rewrite.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

namespace troupe::nn {

namespace {

class CastDropper {
public:
  CastDropper(const Graph& graph, const std::vector<std::string>& keep)
      : graph_{graph}, keep_{keep}, same_(graph.tensors.size()), sources_(graph.tensors.size()) {
    std::iota(same_.begin(), same_.end(), 0);
  }

  Graph run() && {
    for (auto& node : graph_.nodes) {
      for (auto& id : node.inputs)
        id = same_[static_cast<std::size_t>(id)];
      if (node.op == Op::cast)
        visit(node);
    }
    drop_nodes(graph_, [this](const Node& node, const std::vector<int>& uses) {
      return !is_droppable(node) || uses[static_cast<std::size_t>(node.outputs[0])] > 0;
    });
    return drop_unused_tensors(graph_);
  }

private:
  bool is_droppable(const Node& node) const {
    const auto& y = graph_[node.outputs[0]];
    return node.op == Op::cast && y.role == Role::activation &&
           std::ranges::count(keep_, y.name) == 0;
  }

  void visit(const Node& cast) {
    const auto x = cast.inputs[0], y = cast.outputs[0];
    const auto [known, is_new] = known_.try_emplace({cast.phase, x, graph_[y].dtype}, y);
    auto equal = known->second;
    if (graph_[x].dtype == graph_[y].dtype)
      equal = x;
    // f32 represents every value of the other types.
    else if (const auto source = sources_[static_cast<std::size_t>(x)];
             source && graph_[x].dtype == DType::f32 && graph_[*source].dtype == graph_[y].dtype)
      equal = *source;
    if (equal != y && is_droppable(cast))
      same_[static_cast<std::size_t>(y)] = equal;
    sources_[static_cast<std::size_t>(y)] = x;
  }

  Graph graph_;
  const std::vector<std::string>& keep_;
  std::vector<TensorId> same_;                   ///< tensor with the same bits, by TensorId
  std::vector<std::optional<TensorId>> sources_; ///< tensor that it was cast from
  std::map<std::tuple<Phase, TensorId, DType>, TensorId> known_; ///< results of casts so far
};

} // namespace

Graph drop_casts(const Graph& graph, const std::vector<std::string>& keep) {
  return CastDropper{graph, keep}.run();
}

} // namespace troupe::nn
