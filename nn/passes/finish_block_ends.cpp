#include "nn/passes/fuse_training.hpp"

#include "nn/passes/detail/fusion_draft.hpp"

namespace troupe::nn {

namespace {

class EndFinisher : FusionDraft {
public:
  using FusionDraft::FusionDraft;

  Graph run() && {
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (is_end_gradient(nodes_[i])) {
        add_gradients(i);
        read_mask(i);
      }
    return std::move(*this).take();
  }

private:
  static BatchNormAttributes& batch_norm(Node& node) {
    return std::get<BatchNormAttributes>(node.attributes);
  }

  static bool is_end_gradient(const Node& node) {
    if (node.op != Op::batch_norm_backward)
      return false;
    const auto& a = std::get<BatchNormAttributes>(node.attributes);
    return a.relu && a.add;
  }

  void add_gradients(NodeIndex backward) {
    const auto dy = nodes_[backward].inputs[0];
    const auto add = maker(dy, Op::add);
    if (!add || is_kept(dy) || readers(dy).size() != 1)
      return;
    auto fused = nodes_[backward];
    batch_norm(fused).add_gradient = true;
    fused.inputs[0] = nodes_[*add].inputs[0];
    fused.inputs.push_back(nodes_[*add].inputs[1]);
    if (!choose("sum of gradients", dy, {time(fused), time(nodes_[backward]) + time(nodes_[*add])}))
      return;
    nodes_[backward] = std::move(fused);
    drop(*add);
  }

  void read_mask(NodeIndex backward) {
    const auto y = nodes_[backward].inputs[5];
    const auto apply = *maker(y);
    auto forward = nodes_[apply], fused = nodes_[backward];
    if (graph_[y].shape.dims.back() % 8 != 0 || !give_mask(forward))
      return;
    const auto mask = mask_of(y);
    forward.outputs.push_back(mask);
    batch_norm(fused).mask = true;
    fused.inputs[5] = mask;
    if (!choose("mask", y,
                {time(forward) + time(fused), time(nodes_[apply]) + time(nodes_[backward])}))
      return;
    nodes_[apply] = std::move(forward);
    nodes_[backward] = std::move(fused);
  }

  static bool give_mask(Node& forward) {
    if (forward.op == Op::batch_norm)
      return batch_norm(forward).mask = true;
    if (forward.op == Op::scale_shift)
      return std::get<ScaleShiftAttributes>(forward.attributes).mask = true;
    return false;
  }

  TensorId mask_of(TensorId y) {
    auto shape = graph_[y].shape;
    shape.dims.back() /= 8;
    return graph_.add_tensor(
        {graph_[y].name + ".mask", shape, DType::u8, Role::activation, graph_[y].unit});
  }
};

} // namespace

Graph finish_block_ends(const Graph& training, const FusionSupport& support,
                        const std::vector<std::string>& keep) {
  return support.microseconds ? EndFinisher{training, support, keep}.run() : training;
}

} // namespace troupe::nn
