#include "nn/passes/cache_attention.hpp"

#include "core/fail.hpp"
#include "nn/passes/detail/rewrite.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe::nn {

namespace {

class AttentionCacher {
public:
  AttentionCacher(const Graph& forward, const CacheOptions& options)
      : graph_{forward}, options_{options}, same_(forward.tensors.size()) {
    std::iota(same_.begin(), same_.end(), 0);
  }

  Result<Graph> run() && {
    become_one_unit();
    first_ = graph_.add_tensor({first_place, {1}, DType::i32, Role::input});
    const auto nodes = std::exchange(graph_.nodes, {});
    for (auto node : nodes) {
      for (auto& id : node.inputs)
        id = same_[static_cast<std::size_t>(id)];
      visit(std::move(node));
    }
    if (!has_head_)
      return fail(Errc::invalid_input, "only a language model can continue a text");
    drop_nodes(graph_, [this](const Node& node, const std::vector<int>& uses) {
      return is_wanted(node, uses);
    });
    forget_targets();
    return drop_unused_tensors(graph_);
  }

private:
  void become_one_unit() {
    graph_.units = {"model"};
    for (auto& tensor : graph_.tensors)
      tensor.unit = 0;
    for (auto& node : graph_.nodes)
      node.unit = 0;
  }

  void visit(Node node) {
    switch (node.op) {
    case Op::share:
      same_[static_cast<std::size_t>(node.outputs[0])] = node.inputs[0];
      return;
    case Op::rope:
    case Op::position_embedding:
      node.inputs.push_back(first_);
      break;
    case Op::causal_attention:
      node = cached(node);
      break;
    case Op::linear_cross_entropy:
      add_head(node);
      return;
    default:
      break;
    }
    graph_.add_node(std::move(node));
  }

  Node cached(const Node& node) {
    const auto& a = std::get<AttentionAttributes>(node.attributes);
    const auto y = graph_[node.outputs[0]];
    const auto sequences = y.shape[0] / a.sequence;
    Node made{Op::cached_attention, node.inputs, {node.outputs[0]}, a};
    for (const auto* const what : {".keys", ".values"})
      made.inputs.push_back(
          graph_.add_tensor({.name = y.name + what,
                             .shape = {sequences * a.kv_heads * options_.places, a.head_dim},
                             .role = Role::statistic,
                             .initial = Initial::constant(0)}));
    made.inputs.push_back(first_);
    return made;
  }

  /// Adds the logits. The weight is rounded to the type of x, as in the loss.
  void add_head(const Node& loss) {
    has_head_ = true;
    if (!options_.logits)
      return;
    const auto x = loss.inputs[0], weight = loss.inputs[1];
    const Shape shape{graph_[x].shape[0], graph_[weight].shape[0]};
    const auto logits = graph_.add_tensor({.name = "logits", .shape = shape});
    graph_.add_node({Op::matmul, {x, weight}, {logits}, MatmulAttributes{.wide = true}});
  }

  /// Returns whether an output of the node is read or requested, or the node writes to a cache.
  bool is_wanted(const Node& node, const std::vector<int>& uses) const {
    return node.op == Op::cached_attention || std::ranges::any_of(node.outputs, [&](TensorId id) {
             return uses[static_cast<std::size_t>(id)] > 0 || graph_[id].name == "logits";
           });
  }

  /// Makes targets activations, which are removed if they are not read, so that a batch need not
  /// have them.
  void forget_targets() {
    for (const auto id : graph_.with_role(Role::target))
      graph_[id].role = Role::activation;
  }

  Graph graph_;
  const CacheOptions& options_;
  std::vector<TensorId> same_; ///< tensor to read instead, by TensorId
  TensorId first_ = -1;
  bool has_head_ = false;
};

} // namespace

Result<Graph> cache_attention(const Graph& forward, const CacheOptions& options) {
  return AttentionCacher{forward, options}.run();
}

std::optional<std::int64_t> most_places(const Graph& forward) {
  std::optional<std::int64_t> most;
  for (const auto& node : forward.nodes)
    if (node.op == Op::position_embedding) {
      const auto rows = forward[node.inputs[1]].shape[0];
      most = std::min(most.value_or(rows), rows);
    }
  return most;
}

} // namespace troupe::nn
