#include "nn/passes/fuse_training.hpp"

#include "nn/passes/detail/fusion_draft.hpp"

#include <algorithm>
#include <optional>

namespace troupe::nn {

namespace {

/// A pooling, the node that writes its input, and their backward nodes.
struct Stem {
  NodeIndex normalize, pool, pool_backward, backward;
};

class MaxPoolFuser : FusionDraft {
public:
  using FusionDraft::FusionDraft;

  Graph run() && {
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].op == Op::max_pool)
        if (const auto stem = stem_of(i))
          rewrite(*stem);
    return std::move(*this).take();
  }

private:
  static bool normalizes(const Node& node) {
    if (node.op == Op::scale_shift)
      return node.inputs.size() == 3 && std::get<ScaleShiftAttributes>(node.attributes).relu;
    if (!is_batch_norm_of_this_rank(node, Op::batch_norm))
      return false;
    const auto& a = std::get<BatchNormAttributes>(node.attributes);
    return a.relu && !a.add;
  }

  /// Returns the only reader of a tensor if it has this op.
  std::optional<NodeIndex> only_reader(TensorId id, Op op) const {
    const auto& all = readers(id);
    return all.size() == 1 && nodes_[all.front()].op == op ? std::optional{all.front()}
                                                           : std::nullopt;
  }

  std::optional<Stem> stem_of(NodeIndex pool) const {
    const auto y = nodes_[pool].inputs[0];
    const auto normalize = maker(y);
    const auto pool_backward = only_reader(nodes_[pool].outputs[1], Op::max_pool_backward);
    if (!normalize || !normalizes(nodes_[*normalize]) || !pool_backward || is_kept(y))
      return std::nullopt;
    const auto dy = nodes_[*pool_backward].outputs[0];
    const auto backward = only_reader(dy, Op::batch_norm_backward);
    if (!backward || is_kept(dy) || nodes_[*backward].inputs[1] != nodes_[*normalize].inputs[0] ||
        !std::ranges::all_of(readers(y), [&](NodeIndex i) { return i == pool || i == backward; }))
      return std::nullopt;
    return Stem{*normalize, pool, *pool_backward, *backward};
  }

  /// Returns the batch_norm_statistics that replaces a batch norm with its own statistics.
  Node statistics_of(const Node& batch_norm) {
    const auto& a = std::get<BatchNormAttributes>(batch_norm.attributes);
    const auto& x = graph_[batch_norm.inputs[0]].shape;
    const auto count = x.elements() / x.dims.back();
    const auto y = batch_norm.outputs[0];
    return {Op::batch_norm_statistics,
            {batch_norm.inputs.begin(), batch_norm.inputs.begin() + 5},
            {batch_norm.outputs[1], batch_norm.outputs[2], by_channel(y, ".factor"),
             by_channel(y, ".offset")},
            FinalizeAttributes{a.eps, a.momentum, count},
            batch_norm.phase,
            batch_norm.unit};
  }

  void rewrite(const Stem& stem) {
    const auto normalize = nodes_[stem.normalize];
    std::optional<Node> statistics;
    if (normalize.op == Op::batch_norm)
      statistics = statistics_of(normalize);
    const auto factor = statistics ? statistics->outputs[2] : normalize.inputs[1];
    const auto offset = statistics ? statistics->outputs[3] : normalize.inputs[2];

    auto pool = nodes_[stem.pool];
    std::get<PoolAttributes>(pool.attributes).prologue = true;
    pool.inputs = {normalize.inputs[0], factor, offset};

    auto backward = nodes_[stem.backward];
    const auto& pooled = nodes_[stem.pool_backward];
    std::get<BatchNormAttributes>(backward.attributes).pooled =
        std::get<PoolAttributes>(pooled.attributes);
    backward.inputs.resize(5);
    backward.inputs[0] = pooled.inputs[0];
    backward.inputs.insert(backward.inputs.end(), {factor, offset, pooled.inputs[1]});

    const auto fused = time(pool) + time(backward) + (statistics ? time(*statistics) : Time{0});
    const auto apart =
        time(normalize) + time(nodes_[stem.pool]) + time(pooled) + time(nodes_[stem.backward]);
    if (!choose("max pool", pool.outputs[0], {fused, apart}))
      return;
    nodes_[stem.pool] = std::move(pool);
    nodes_[stem.backward] = std::move(backward);
    drop(stem.pool_backward);
    if (statistics)
      nodes_[stem.normalize] = *std::move(statistics);
    else
      drop(stem.normalize);
  }
};

} // namespace

Graph fuse_max_pool(const Graph& training, const FusionSupport& support,
                    const std::vector<std::string>& keep) {
  return support.microseconds ? MaxPoolFuser{training, support, keep}.run() : training;
}

} // namespace troupe::nn
