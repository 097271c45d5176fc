#include "nn/passes/detail/fusion_draft.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

class EndGradientFuser : FusionDraft {
public:
  using FusionDraft::FusionDraft;

  Graph run() && {
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (is_masked(nodes_[i]))
        visit(i);
    return std::move(*this).take();
  }

private:
  /// A gradient to which a convolution contributes all or a part.
  struct Made {
    NodeIndex place; ///< node that computes the whole gradient
    NodeIndex data;  ///< conv2d_backward_data
    std::optional<TensorId> other = std::nullopt;
  };

  /// The operand that was added before relu.
  struct Added {
    Residual residual = Residual::none;
    TensorId plain = -1;
    NodeIndex backward = 0; ///< if normalized: backward of the operand's batch norm
  };

  /// A batch norm's scale and shift, in tensors that the reading node may use.
  struct Copied {
    TensorId scale, shift;
    std::optional<NodeIndex> by = std::nullopt; ///< batch_norm_finalize; empty: parameters
  };

  /// The backward of a batch norm in two parts.
  struct Split {
    std::vector<TensorId> reads, gives; ///< inputs and outputs of the first part
    Node rest;
    Copied copied;
  };

  static bool is_masked(const Node& node) {
    return is_batch_norm_of_this_rank(node, Op::batch_norm_backward) &&
           std::get<BatchNormAttributes>(node.attributes).relu;
  }

  void visit(NodeIndex backward) {
    const auto dy = nodes_[backward].inputs[0];
    const auto added = added_before(nodes_[backward]);
    if (!added || is_kept(dy) || readers(dy).size() != 1)
      return;
    for (const auto& made : ways_to_make(dy)) {
      const bool within_unit = nodes_[made.data].unit == nodes_[backward].unit;
      if (within_unit && !made.other && added->residual == Residual::none)
        continue; // fuse_statistics has handled it
      if (join(backward, made, *added))
        return;
    }
  }

  std::vector<Made> ways_to_make(TensorId dy) const {
    if (const auto data = plain_data(dy))
      return {{*data, *data}};
    std::vector<Made> ways;
    if (const auto add = maker(dy, Op::add))
      for (const std::size_t i : {0u, 1u}) {
        const auto& parts = nodes_[*add].inputs;
        const auto data = plain_data(parts[i]);
        if (data && nodes_[*data].unit == nodes_[*add].unit && readers(parts[i]).size() == 1 &&
            !is_kept(parts[i]))
          ways.push_back({*add, *data, parts[1 - i]});
      }
    return ways;
  }

  /// Returns the conv2d_backward_data that writes `dx`, if nothing is fused into it yet.
  std::optional<NodeIndex> plain_data(TensorId dx) const {
    const auto data = maker(dx, Op::conv2d_backward_data);
    return data && !std::get<Conv2dAttributes>(nodes_[*data].attributes).batch_norm_relu
               ? data
               : std::nullopt;
  }

  /// Returns the operand that was added before relu; nothing if it cannot be determined.
  std::optional<Added> added_before(const Node& backward) const {
    if (!std::get<BatchNormAttributes>(backward.attributes).add)
      return Added{};
    const auto dresidual = backward.outputs[3];
    if (is_kept(dresidual))
      return std::nullopt;
    const auto& forward = nodes_[*maker(backward.inputs[5])];
    if (forward.op == Op::batch_norm)
      return Added{Residual::plain, forward.inputs[5]};
    if (forward.inputs.size() == 4)
      return Added{Residual::plain, forward.inputs[3]};
    const auto& finalize = nodes_[*maker(forward.inputs[4])];
    for (const auto reader : readers(finalize.outputs[0]))
      if (nodes_[reader].op == Op::batch_norm_backward && nodes_[reader].inputs[0] == dresidual &&
          readers(dresidual).size() == 1)
        return Added{Residual::normalized, -1, reader};
    return std::nullopt;
  }

  /// Returns the parameters, or copies for a reader in another unit; nothing if no
  /// batch_norm_finalize can copy them.
  std::optional<Copied> scale_and_shift(const Node& backward, UnitId reader) {
    const auto mean = backward.inputs[3];
    const auto& forward = nodes_[*maker(mean)];
    const bool whole = forward.op == Op::batch_norm;
    const auto scale = backward.inputs[2], shift = forward.inputs[whole ? 2 : 3];
    if (reader == backward.unit)
      return Copied{scale, shift};
    if (whole)
      return std::nullopt;
    return Copied{by_channel(scale, ".copy"), by_channel(shift, ".copy"), maker(mean)};
  }

  /// Splits a batch norm's backward; the first part writes `dz` in `unit`.
  std::optional<Split> split(const Node& backward, TensorId dz, UnitId unit) {
    const auto copied = scale_and_shift(backward, unit);
    if (!copied)
      return std::nullopt;
    const auto dy = backward.inputs[0], x = backward.inputs[1];
    Split parts{.reads = {x, copied->scale, copied->shift, backward.inputs[3], backward.inputs[4]},
                .gives = {backward.outputs[1], backward.outputs[2], by_channel(dy, ".dy_factor"),
                          by_channel(dy, ".x_factor"), by_channel(dy, ".offset")},
                .rest = {},
                .copied = *copied};
    parts.rest = {Op::batch_norm_input_gradient,
                  {dz, x, parts.gives[2], parts.gives[3], parts.gives[4]},
                  {backward.outputs[0]},
                  {},
                  Phase::backward,
                  backward.unit};
    if (unit != backward.unit)
      pass_on(parts, dy);
    return parts;
  }

  /// Makes the second part pass on the sums, which another unit's node computes, to the gradients.
  void pass_on(Split& parts, TensorId dy) {
    parts.rest.outputs.insert(parts.rest.outputs.end(), parts.gives.begin(),
                              parts.gives.begin() + 2);
    parts.gives[0] = by_channel(dy, ".dscale");
    parts.gives[1] = by_channel(dy, ".dshift");
    parts.rest.inputs.insert(parts.rest.inputs.end(), parts.gives.begin(), parts.gives.begin() + 2);
  }

  bool join(NodeIndex backward, const Made& made, const Added& added) {
    const auto dz = nodes_[backward].inputs[0];
    auto data = nodes_[made.data];
    const auto first = split(nodes_[backward], dz, data.unit);
    const bool two = added.residual == Residual::normalized;
    const auto second = two ? split(nodes_[added.backward], dz, data.unit) : std::nullopt;
    if (!first || two != second.has_value())
      return false;
    data.outputs = {dz};
    add_operands(data, *first);
    if (second)
      add_operands(data, *second);
    if (added.residual == Residual::plain)
      data.inputs.push_back(added.plain);
    if (made.other)
      data.inputs.push_back(*made.other);
    auto& attributes = convolution(data);
    attributes.batch_norm_relu = true;
    attributes.residual = added.residual;
    attributes.add_gradient = made.other.has_value();
    if (!choose(added.residual == Residual::none ? "mask and sums" : "gradient of a block's end",
                dz, times(data, *first, second, backward, made, added)))
      return false;
    replace(std::move(data), *first, backward, made);
    if (second)
      replace(*second, added.backward);
    return true;
  }

  static void add_operands(Node& data, const Split& parts) {
    data.inputs.insert(data.inputs.end(), parts.reads.begin(), parts.reads.end());
    data.outputs.insert(data.outputs.end(), parts.gives.begin(), parts.gives.end());
  }

  Ways times(const Node& data, const Split& first, const std::optional<Split>& second,
             NodeIndex backward, const Made& made, const Added& added) const {
    Ways ways{time(data) + time(first.rest), time(nodes_[made.data]) + time(nodes_[backward])};
    if (made.other)
      ways.apart = ways.apart + time(nodes_[made.place]);
    if (second)
      ways = {ways.fused + time(second->rest), ways.apart + time(nodes_[added.backward])};
    return ways;
  }

  void replace(Node data, const Split& first, NodeIndex backward, const Made& made) {
    const auto old = nodes_[backward];
    if (old.outputs.size() > 3)
      rename(old.outputs[3], data.outputs[0]);
    if (old.inputs.size() == 7)
      drop_f32(*maker(old.inputs[5]));
    if (made.place != made.data)
      drop(made.data);
    nodes_[made.place] = std::move(data);
    replace(first, backward);
  }

  void replace(const Split& parts, NodeIndex backward) {
    nodes_[backward] = parts.rest;
    if (!parts.copied.by)
      return;
    auto& finalize = nodes_[*parts.copied.by];
    std::get<FinalizeAttributes>(finalize.attributes).copies = true;
    finalize.outputs.insert(finalize.outputs.end(), {parts.copied.scale, parts.copied.shift});
  }

  void rename(TensorId from, TensorId to) {
    for (auto& node : nodes_)
      std::ranges::replace(node.inputs, from, to);
  }

  /// Removes factor and offset in f32, which only the batch norm's backward read.
  void drop_f32(NodeIndex finalize) {
    auto& attributes = std::get<FinalizeAttributes>(nodes_[finalize].attributes);
    auto& outputs = nodes_[finalize].outputs;
    if (attributes.also_f32)
      outputs.erase(outputs.begin() + 4, outputs.begin() + 6);
    attributes.also_f32 = false;
  }
};

} // namespace

Graph fuse_end_gradients(const Graph& training, const FusionSupport& support,
                         const std::vector<std::string>& keep) {
  return EndGradientFuser{training, support, keep}.run();
}

} // namespace troupe::nn
