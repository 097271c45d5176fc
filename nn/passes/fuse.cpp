#include "nn/passes/fuse.hpp"

#include "nn/passes/detail/rewrite.hpp"

#include <algorithm>
#include <optional>

namespace troupe::nn {

namespace {

class Fuser {
public:
  Fuser(const Graph& graph, const FusePatterns& patterns, const std::vector<std::string>& keep)
      : graph_{graph}, patterns_{patterns}, keep_{keep}, uses_{count_uses(graph)},
        makers_(graph.tensors.size(), -1), joined_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (const auto id : graph.nodes[i].outputs)
        makers_[static_cast<std::size_t>(id)] = static_cast<int>(i);
  }

  Graph run() && {
    Graph fused;
    fused.tensors = graph_.tensors;
    fused.units = graph_.units;
    std::vector<Node> nodes;
    // Starts at the last node, because a longer pattern ends after the shorter one inside it.
    for (std::size_t i = graph_.nodes.size(); i-- > 0;)
      if (!joined_[i])
        nodes.push_back(fused_node(graph_.nodes[i]));
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it)
      fused.add_node(std::move(*it));
    return drop_unused_tensors(fused);
  }

private:
  /// Returns the node of this op that writes a tensor, if this reader is the only one.
  std::optional<std::size_t> sole_maker(TensorId id, Op op, UnitId unit) const {
    const auto i = static_cast<std::size_t>(id);
    if (makers_[i] < 0 || uses_[i] != 1 || std::ranges::count(keep_, graph_[id].name) > 0)
      return std::nullopt;
    const auto maker = static_cast<std::size_t>(makers_[i]);
    const auto& node = graph_.nodes[maker];
    if (joined_[maker] || node.op != op || node.unit != unit || node.outputs[0] != id)
      return std::nullopt;
    return maker;
  }

  static bool is_plain(const Node& batch_norm) {
    const auto& a = std::get<BatchNormAttributes>(batch_norm.attributes);
    return !a.relu && !a.add;
  }

  Node fused_node(const Node& node) {
    if (node.op == Op::bias && patterns_.matmul_bias)
      if (const auto matmul = sole_maker(node.inputs[0], Op::matmul, node.unit))
        return join_bias(*matmul, node);
    if (node.op == Op::relu && patterns_.batch_norm_add_relu)
      if (const auto add = sole_maker(node.inputs[0], Op::add, node.unit))
        if (const auto batch_norm = later_batch_norm(graph_.nodes[*add])) {
          joined_[*add] = true;
          return join_batch_norm(*batch_norm, node, &graph_.nodes[*add]);
        }
    if (node.op == Op::relu && patterns_.batch_norm_relu)
      if (const auto batch_norm = sole_maker(node.inputs[0], Op::batch_norm, node.unit))
        if (is_plain(graph_.nodes[*batch_norm]))
          return join_batch_norm(*batch_norm, node, nullptr);
    return node;
  }

  std::optional<std::size_t> later_batch_norm(const Node& add) const {
    std::optional<std::size_t> found;
    for (const auto id : add.inputs)
      if (const auto maker = sole_maker(id, Op::batch_norm, add.unit))
        if (is_plain(graph_.nodes[*maker]) && (!found || *maker > *found))
          found = maker;
    return found;
  }

  Node join_bias(std::size_t matmul, const Node& bias) {
    auto node = graph_.nodes[matmul];
    if (node.inputs.size() == 3)
      return bias; // the matmul already has a bias
    joined_[matmul] = true;
    node.inputs.push_back(bias.inputs[1]);
    node.outputs = bias.outputs;
    return node;
  }

  Node join_batch_norm(std::size_t batch_norm, const Node& relu, const Node* add) {
    joined_[batch_norm] = true;
    auto node = graph_.nodes[batch_norm];
    auto& attributes = std::get<BatchNormAttributes>(node.attributes);
    attributes.relu = true;
    if (add) {
      attributes.add = true;
      node.inputs.push_back(add->inputs[add->inputs[0] == node.outputs[0] ? 1 : 0]);
    }
    node.outputs[0] = relu.outputs[0];
    return node;
  }

  const Graph& graph_;
  const FusePatterns& patterns_;
  const std::vector<std::string>& keep_;
  std::vector<int> uses_;
  std::vector<int> makers_; ///< index of the node that writes a tensor; -1: none
  std::vector<bool> joined_;
};

} // namespace

Graph fuse(const Graph& forward, const FusePatterns& patterns,
           const std::vector<std::string>& keep) {
  return Fuser{forward, patterns, keep}.run();
}

} // namespace troupe::nn
