#include "fuse_max_pool.hpp"

#include "detail/rewrite.hpp"

#include <algorithm>
#include <optional>

namespace troupe::nn {

namespace {

using NodeIndex = std::size_t;
using Time = std::optional<double>;

/// Of nodes one after the other; nothing where one is not run.
Time total(std::initializer_list<Time> times) {
  Time sum = 0;
  for (const auto& time : times)
    sum = sum && time ? Time{*sum + *time} : std::nullopt;
  return sum;
}

/// A pooling, what makes its input, and their backward nodes: places in the graph as it was.
struct Stem {
  NodeIndex normalize, pool, pool_backward, backward;
};

class MaxPoolFuser {
public:
  MaxPoolFuser(const Graph& training, const FusionSupport& support,
               const std::vector<std::string>& keep)
      : graph_{training}, support_{support}, keep_{keep} {}

  Graph run() && {
    for (NodeIndex i = 0; i < graph_.nodes.size(); ++i)
      if (graph_.nodes[i].op == Op::max_pool)
        if (const auto stem = stem_of(i))
          rewrite(*stem);
    std::erase_if(graph_.nodes, [](const Node& node) { return node.outputs.empty(); });
    return drop_unused_tensors(graph_);
  }

private:
  const Node& node(NodeIndex index) const { return graph_.nodes[index]; }
  Time time(const Node& node) const { return support_.microseconds(graph_, node); }
  bool is_kept(TensorId id) const {
    return graph_[id].role != Role::activation || std::ranges::count(keep_, graph_[id].name) > 0;
  }

  /// The only node of an op that reads, or makes, a tensor.
  std::optional<NodeIndex> reader(TensorId id, Op op) const {
    return find([&](const Node& n) { return n.op == op && std::ranges::count(n.inputs, id) > 0; });
  }
  template <class Condition>
  std::optional<NodeIndex> find(Condition condition) const {
    const auto found = std::ranges::find_if(graph_.nodes, condition);
    if (found == graph_.nodes.end() ||
        std::find_if(found + 1, graph_.nodes.end(), condition) != graph_.nodes.end())
      return std::nullopt;
    return static_cast<NodeIndex>(found - graph_.nodes.begin());
  }

  static bool normalizes(const Node& node) {
    if (node.op == Op::scale_shift)
      return node.inputs.size() == 3 && std::get<ScaleShiftAttributes>(node.attributes).relu;
    if (node.op != Op::batch_norm)
      return false;
    const auto& a = std::get<BatchNormAttributes>(node.attributes);
    return a.training && a.relu && !a.add && !a.synchronized;
  }

  std::optional<Stem> stem_of(NodeIndex pool) const {
    const auto y = node(pool).inputs[0];
    const auto normalize = find([&](const Node& n) { return n.outputs[0] == y; });
    const auto pool_backward = reader(node(pool).outputs[1], Op::max_pool_backward);
    if (!normalize || !normalizes(node(*normalize)) || !pool_backward || is_kept(y))
      return std::nullopt;
    const auto dy = node(*pool_backward).outputs[0];
    const auto backward = reader(dy, Op::batch_norm_backward);
    const Stem stem{*normalize, pool, *pool_backward, backward.value_or(0)};
    if (!backward || node(*backward).inputs[1] != node(*normalize).inputs[0] || is_kept(dy) ||
        !nobody_else_reads(stem))
      return std::nullopt;
    return stem;
  }

  bool nobody_else_reads(const Stem& stem) const {
    const auto y = node(stem.pool).inputs[0], dy = node(stem.pool_backward).outputs[0];
    for (NodeIndex i = 0; i < graph_.nodes.size(); ++i) {
      const auto& inputs = node(i).inputs;
      const bool reads_y = std::ranges::count(inputs, y) > 0;
      if (reads_y && i != stem.pool && i != stem.backward)
        return false;
      if (std::ranges::count(inputs, dy) > 0 && i != stem.backward)
        return false;
    }
    return true;
  }

  /// A new tensor of f32 values by channel.
  TensorId by_channel(TensorId like, const char* suffix) {
    const auto& tensor = graph_[like];
    return graph_.add_tensor({tensor.name + suffix, Shape{tensor.shape.dims.back()}, DType::f32,
                              Role::activation, tensor.unit});
  }

  /// In place of a batch norm, which has statistics of its own.
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
    const auto normalize = node(stem.normalize);
    std::optional<Node> statistics;
    if (normalize.op == Op::batch_norm)
      statistics = statistics_of(normalize);
    const auto factor = statistics ? statistics->outputs[2] : normalize.inputs[1];
    const auto offset = statistics ? statistics->outputs[3] : normalize.inputs[2];

    auto pool = node(stem.pool);
    std::get<PoolAttributes>(pool.attributes).prologue = true;
    pool.inputs = {normalize.inputs[0], factor, offset};

    auto backward = node(stem.backward);
    const auto& pooled = node(stem.pool_backward);
    std::get<BatchNormAttributes>(backward.attributes).pooled =
        std::get<PoolAttributes>(pooled.attributes);
    backward.inputs.resize(5);
    backward.inputs[0] = pooled.inputs[0];
    backward.inputs.insert(backward.inputs.end(), {factor, offset, pooled.inputs[1]});

    const auto fused =
        total({time(pool), time(backward), statistics ? time(*statistics) : Time{0}});
    const auto apart =
        total({time(normalize), time(node(stem.pool)), time(pooled), time(node(stem.backward))});
    if (!choose(graph_[pool.outputs[0]], fused, apart))
      return;
    graph_.nodes[stem.pool] = std::move(pool);
    graph_.nodes[stem.backward] = std::move(backward);
    graph_.nodes[stem.pool_backward].outputs.clear();
    if (statistics)
      graph_.nodes[stem.normalize] = *std::move(statistics);
    else
      graph_.nodes[stem.normalize].outputs.clear();
  }

  bool choose(const Tensor& at, const Time& fused, const Time& apart) const {
    if (!fused)
      return false;
    const bool taken = !apart || *fused <= *apart;
    if (support_.chosen)
      support_.chosen({"max pool", at, *fused, apart, taken});
    return taken;
  }

  Graph graph_;
  const FusionSupport& support_;
  const std::vector<std::string>& keep_;
};

} // namespace

Graph fuse_max_pool(const Graph& training, const FusionSupport& support,
                    const std::vector<std::string>& keep) {
  return support.microseconds ? MaxPoolFuser{training, support, keep}.run() : training;
}

} // namespace troupe::nn
