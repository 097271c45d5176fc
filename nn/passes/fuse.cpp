#include "nn/passes/fuse.hpp"

#include "nn/passes/detail/fusion_draft.hpp"

#include <algorithm>
#include <optional>

namespace troupe::nn {

namespace {

class Fuser : FusionDraft {
public:
  Fuser(const Graph& graph, const FusePatterns& patterns, const std::vector<std::string>& keep)
      : FusionDraft{graph, no_support, keep}, patterns_{patterns} {}

  Graph run() && {
    // Starts at the last node, because a longer pattern ends after the shorter one inside it.
    for (NodeIndex i = nodes_.size(); i-- > 0;)
      if (!is_dropped(i))
        nodes_[i] = fused_node(nodes_[i]);
    return std::move(*this).take();
  }

private:
  /// Returns the node of this op that writes a tensor, if this reader is the only one.
  std::optional<NodeIndex> sole_maker(TensorId id, Op op, UnitId unit) const {
    const auto made = maker(id, op);
    const bool is_sole = made && has_one_reader(id) && !is_kept(id) && !is_dropped(*made) &&
                         nodes_[*made].unit == unit;
    return is_sole ? made : std::nullopt;
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
        if (const auto batch_norm = later_batch_norm(nodes_[*add])) {
          drop(*add);
          return join_batch_norm(*batch_norm, node, &nodes_[*add]);
        }
    if (node.op == Op::relu && patterns_.batch_norm_relu)
      if (const auto batch_norm = sole_maker(node.inputs[0], Op::batch_norm, node.unit))
        if (is_plain(nodes_[*batch_norm]))
          return join_batch_norm(*batch_norm, node, nullptr);
    return node;
  }

  std::optional<NodeIndex> later_batch_norm(const Node& add) const {
    std::optional<NodeIndex> found;
    for (const auto id : add.inputs)
      if (const auto made = sole_maker(id, Op::batch_norm, add.unit))
        if (is_plain(nodes_[*made]) && (!found || *made > *found))
          found = made;
    return found;
  }

  Node join_bias(NodeIndex matmul, const Node& bias) {
    auto node = nodes_[matmul];
    if (node.inputs.size() == 3)
      return bias; // the matmul already has a bias
    drop(matmul);
    node.inputs.push_back(bias.inputs[1]);
    node.outputs = bias.outputs;
    return node;
  }

  Node join_batch_norm(NodeIndex batch_norm, const Node& relu, const Node* add) {
    drop(batch_norm);
    auto node = nodes_[batch_norm];
    auto& attributes = std::get<BatchNormAttributes>(node.attributes);
    attributes.relu = true;
    if (add) {
      attributes.add = true;
      node.inputs.push_back(add->inputs[add->inputs[0] == node.outputs[0] ? 1 : 0]);
    }
    node.outputs[0] = relu.outputs[0];
    return node;
  }

  const FusePatterns& patterns_;
};

} // namespace

Graph fuse(const Graph& forward, const FusePatterns& patterns,
           const std::vector<std::string>& keep) {
  return Fuser{forward, patterns, keep}.run();
}

} // namespace troupe::nn
