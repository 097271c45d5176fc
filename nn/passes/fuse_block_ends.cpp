#include "nn/passes/fuse_training.hpp"

#include "nn/passes/detail/fusion_draft.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

class EndFuser : FusionDraft {
public:
  using FusionDraft::FusionDraft;

  Graph run() && {
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (is_end(nodes_[i]))
        visit(i);
    return std::move(*this).take();
  }

private:
  /// Factor and offset that a convolution reads, and the batch_norm_finalize that computes them.
  struct Affine {
    NodeIndex finalize;
    TensorId factor, offset;
  };

  static bool is_end(const Node& node) {
    return node.op == Op::scale_shift && node.inputs.size() > 3 &&
           std::get<ScaleShiftAttributes>(node.attributes).relu;
  }

  void visit(NodeIndex end) {
    const auto y = nodes_[end].outputs[0];
    for (const auto reader : readers(y))
      if (can_end(nodes_[reader], y) && nodes_[reader].unit == nodes_[readers(y).front()].unit &&
          join(end, reader))
        return;
  }

  bool can_end(const Node& node, TensorId y) const {
    return node.op == Op::conv2d && node.phase == Phase::forward && node.inputs[0] == y &&
           !std::get<Conv2dAttributes>(node.attributes).prologue;
  }

  /// Returns the factor and offset at this input of a scale_shift; new tensors if they must have
  /// another type.
  Affine narrowed(const Node& end, std::size_t input, DType type) {
    const auto factor = end.inputs[input], offset = end.inputs[input + 1];
    const auto finalize = *maker(factor);
    if (type == DType::f32)
      return {finalize, factor, offset};
    return {finalize, by_channel(factor, ".narrow", type), by_channel(offset, ".narrow", type)};
  }

  void give(const Affine& affine, DType type) {
    auto& finalize = nodes_[affine.finalize];
    if (finalize.outputs[2] != affine.factor)
      narrow(finalize, affine.factor, affine.offset, type, readers(finalize.outputs[2]).size() > 1);
  }

  bool join(NodeIndex end, NodeIndex reader) {
    const auto& apply = nodes_[end];
    const auto type = graph_[apply.inputs[0]].dtype;
    auto fused = nodes_[reader];
    const auto own = narrowed(apply, 1, type);
    fused.inputs[0] = apply.inputs[0];
    fused.inputs.insert(fused.inputs.end(), {own.factor, own.offset, apply.inputs[3]});
    std::optional<Affine> residual;
    if (apply.inputs.size() > 4) {
      residual = narrowed(apply, 4, type);
      fused.inputs.insert(fused.inputs.end(), {residual->factor, residual->offset});
    }
    convolution(fused).prologue = true;
    convolution(fused).residual = residual ? Residual::normalized : Residual::plain;
    fused.outputs.push_back(apply.outputs[0]);
    if (!choose("block's end", apply.outputs[0], {time(fused), time(apply) + time(nodes_[reader])}))
      return false;
    give(own, type);
    if (residual)
      give(*residual, type);
    drop(end);
    drop(reader);
    put_before(readers(apply.outputs[0]).front(), std::move(fused));
    return true;
  }
};

} // namespace

Graph fuse_block_ends(const Graph& training, const FusionSupport& support,
                      const std::vector<std::string>& keep) {
  if (!support.microseconds)
    return training;
  return EndFuser{fuse_end_gradients(training, support, keep), support, keep}.run();
}

} // namespace troupe::nn
