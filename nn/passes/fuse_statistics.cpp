#include "nn/passes/fuse_training.hpp"

#include "nn/passes/detail/fusion_draft.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

class StatisticsFuser : FusionDraft {
public:
  StatisticsFuser(const Graph& training, const FusionSupport& support,
                  const std::vector<std::string>& keep)
      : FusionDraft{training, support, keep}, sums_(training.nodes.size()) {}

  Graph run() && {
    // Synchronized batch norms are not split, because a convolution's sums cover only this rank.
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (is_batch_norm_of_this_rank(nodes_[i], Op::batch_norm))
        rewrite(i);
    return std::move(*this).take();
  }

private:
  /// A batch norm and its parts.
  struct Parts {
    NodeIndex forward;
    Node whole; ///< the original node
    std::optional<NodeIndex> backward;
    BatchNormAttributes attributes;
    TensorId x, y;
    TensorId factor = -1, offset = -1;           ///< set after the split
    TensorId read_factor = -1, read_offset = -1; ///< for prologues, in the type of x
    bool masks_elsewhere = false;                ///< its backward no longer reads y
  };

  void rewrite(NodeIndex forward) {
    const auto& node = nodes_[forward];
    Parts parts{.forward = forward,
                .whole = node,
                .backward = {},
                .attributes = std::get<BatchNormAttributes>(node.attributes),
                .x = node.inputs[0],
                .y = node.outputs[0]};
    for (const auto reader : readers(parts.whole.outputs[1]))
      if (nodes_[reader].op == Op::batch_norm_backward)
        parts.backward = reader;
    take_apart(parts);
    reduce_in_backward_data(parts);
    if (parts.factor >= 0)
      move_into_readers(parts);
  }

  Node with_statistics(NodeIndex index) {
    auto node = nodes_[index];
    auto& sums = sums_[index];
    if (sums.empty())
      sums = {by_channel(node.outputs[0], ".sum"), by_channel(node.outputs[0], ".sum_of_squares")};
    convolution(node).statistics = true;
    node.outputs.insert(node.outputs.end(), sums.begin(), sums.end());
    return node;
  }

  /// batch_norm -> statistics in the convolution, batch_norm_finalize, scale_shift.
  void take_apart(Parts& parts) {
    const auto made = maker(parts.x, Op::conv2d);
    if (!made || convolution(nodes_[*made]).statistics)
      return;
    const auto& node = parts.whole;
    auto source = with_statistics(*made);
    const auto factor = by_channel(parts.y, ".factor"), offset = by_channel(parts.y, ".offset");
    const auto& a = parts.attributes;
    const auto& shape = graph_[parts.x].shape;
    const Node finalize{Op::batch_norm_finalize,
                        {source.outputs[1], source.outputs[2], node.inputs[1], node.inputs[2],
                         node.inputs[3], node.inputs[4]},
                        {node.outputs[1], node.outputs[2], factor, offset},
                        FinalizeAttributes{a.eps, a.momentum, shape.elements() / shape.dims.back()},
                        Phase::forward,
                        node.unit};
    Node apply{Op::scale_shift, {parts.x, factor, offset},
               {parts.y},       ScaleShiftAttributes{.relu = a.relu},
               Phase::forward,  node.unit};
    if (a.add)
      apply.inputs.push_back(node.inputs[5]);
    if (!choose("statistics", parts.x,
                {time(source) + time(finalize) + time(apply), time(nodes_[*made]) + time(node)}))
      return;
    if (a.add)
      apply_shortcut(apply);
    nodes_[*made] = std::move(source);
    put_before(parts.forward, finalize);
    nodes_[parts.forward] = std::move(apply);
    parts.factor = factor;
    parts.offset = offset;
  }

  /// If the residual is the result of another batch norm without other readers, `apply` computes
  /// that, too.
  void apply_shortcut(Node& apply) {
    const auto residual = apply.inputs[3];
    const auto other = maker(residual, Op::scale_shift);
    if (!other || readers(residual).size() != 1 || is_kept(residual))
      return;
    const auto& shortcut = nodes_[*other];
    if (shortcut.inputs.size() != 3 || std::get<ScaleShiftAttributes>(shortcut.attributes).relu)
      return;
    auto both = apply;
    both.inputs[3] = shortcut.inputs[0];
    both.inputs.insert(both.inputs.end(), shortcut.inputs.begin() + 1, shortcut.inputs.end());
    if (!runs(both))
      return;
    apply = std::move(both);
    drop(*other);
  }

  /// conv2d_backward_data, batch_norm_backward -> conv2d_backward_data {batch_norm_relu},
  /// batch_norm_input_gradient.
  void reduce_in_backward_data(Parts& parts) {
    if (!parts.backward || !parts.attributes.relu || parts.attributes.add)
      return;
    const auto& backward = nodes_[*parts.backward];
    const auto dy = backward.inputs[0];
    const auto made = maker(dy, Op::conv2d_backward_data);
    if (!made || readers(dy).size() != 1 || is_kept(dy) || nodes_[*made].unit != backward.unit)
      return;
    const auto& whole = parts.whole;
    auto data = nodes_[*made];
    convolution(data).batch_norm_relu = true;
    data.inputs.insert(data.inputs.end(), {parts.x, whole.inputs[1], whole.inputs[2],
                                           whole.outputs[1], whole.outputs[2]});
    const auto dy_factor = by_channel(dy, ".dy_factor"), x_factor = by_channel(dy, ".x_factor"),
               offset = by_channel(dy, ".offset");
    data.outputs.insert(data.outputs.end(),
                        {backward.outputs[1], backward.outputs[2], dy_factor, x_factor, offset});
    Node gradient{Op::batch_norm_input_gradient,
                  {dy, parts.x, dy_factor, x_factor, offset},
                  {backward.outputs[0]},
                  {},
                  Phase::backward,
                  backward.unit};
    if (!choose("mask and sums", dy,
                {time(data) + time(gradient), time(nodes_[*made]) + time(backward)}))
      return;
    nodes_[*made] = std::move(data);
    nodes_[*parts.backward] = std::move(gradient);
    parts.masks_elsewhere = true;
  }

  /// Provides factor and offset in the type that prologues read.
  void narrow_factor(Parts& parts) {
    const auto type = graph_[parts.x].dtype;
    parts.read_factor = parts.factor;
    parts.read_offset = parts.offset;
    if (type == DType::f32)
      return;
    parts.read_factor = by_channel(parts.factor, ".narrow", type);
    parts.read_offset = by_channel(parts.offset, ".narrow", type);
  }

  /// Returns a convolution or weight gradient that reads x instead of the batch norm's result.
  Node with_prologue(Node node, const Parts& parts) const {
    convolution(node).prologue = true;
    node.inputs[node.op == Op::conv2d ? 0 : 1] = parts.x;
    node.inputs.insert(node.inputs.end(), {parts.read_factor, parts.read_offset});
    return node;
  }

  bool feeds_batch_norm(const Node& node) const {
    return std::ranges::any_of(readers(node.outputs[0]), [this](NodeIndex reader) {
      return is_batch_norm_of_this_rank(nodes_[reader], Op::batch_norm);
    });
  }

  Ways prologue(NodeIndex index, const Parts& parts) {
    const auto& node = nodes_[index];
    const bool forward = node.op == Op::conv2d;
    const auto& x = node.inputs[forward ? 0 : 1];
    if (x != parts.y || std::ranges::count(node.inputs, parts.y) != 1)
      return {};
    if (forward && feeds_batch_norm(node)) { // that batch norm is visited later
      const auto statistics = with_statistics(index);
      const Ways both{time(with_prologue(statistics, parts)), time(statistics)};
      if (both.fused || both.apart) // if it supports statistics, it keeps them
        return both;
    }
    return {time(with_prologue(node, parts)), time(node)};
  }

  /// scale_shift {relu} -> prologues of all its readers.
  void move_into_readers(Parts& parts) {
    if (!parts.attributes.relu || parts.attributes.add || is_kept(parts.y))
      return;
    narrow_factor(parts);
    Ways ways{0, time(nodes_[parts.forward])};
    std::optional<Node> backward;
    if (parts.backward && !parts.masks_elsewhere) {
      backward = nodes_[*parts.backward];
      backward->inputs[5] = parts.factor;
      backward->inputs.push_back(parts.offset);
      ways = {time(*backward), ways.apart + time(nodes_[*parts.backward])};
    }
    std::vector<NodeIndex> convolutions;
    for (const auto reader : readers(parts.y)) {
      if (parts.backward == reader)
        continue;
      const auto op = nodes_[reader].op;
      if (op != Op::conv2d && op != Op::conv2d_backward_weight)
        return;
      const auto more = prologue(reader, parts);
      ways = {ways.fused + more.fused, ways.apart + more.apart};
      convolutions.push_back(reader);
    }
    if (!choose("prologue", parts.y, ways))
      return;
    for (const auto reader : convolutions)
      nodes_[reader] = with_prologue(nodes_[reader], parts);
    if (parts.read_factor != parts.factor)
      narrow(before_[parts.forward].front(), parts.read_factor, parts.read_offset,
             graph_[parts.x].dtype, backward.has_value());
    if (backward)
      nodes_[*parts.backward] = std::move(*backward);
    drop(parts.forward);
  }

  std::vector<std::vector<TensorId>> sums_; ///< by node: sums of a convolution's output, if created
};

} // namespace

Graph fuse_statistics(const Graph& training, const FusionSupport& support,
                      const std::vector<std::string>& keep) {
  return support.microseconds ? StatisticsFuser{training, support, keep}.run() : training;
}

} // namespace troupe::nn
