#include "nn/passes/fuse_training.hpp"

#include "nn/passes/detail/fusion_draft.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

class LinearLossFuser : FusionDraft {
public:
  using FusionDraft::FusionDraft;

  Graph run() && {
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].op == Op::linear_cross_entropy)
        join(i);
    return std::move(*this).take();
  }

private:
  void join(NodeIndex forward) {
    const auto loss = nodes_[forward].outputs[0], total = nodes_[forward].outputs[1],
               counted = nodes_[forward].outputs[2];
    if (is_kept(total) || readers(total).size() != 1 || !readers(loss).empty() ||
        !readers(counted).empty())
      return;
    const auto backward = readers(total).front();
    auto& node = nodes_[backward];
    if (node.op != Op::linear_cross_entropy_backward || node.unit != nodes_[forward].unit)
      return;
    std::get<LossAttributes>(node.attributes).loss = true;
    std::erase(node.inputs, total);
    node.outputs.insert(node.outputs.end(), {loss, counted});
    drop(forward);
  }
};

} // namespace

Graph fuse_linear_loss(const Graph& training, const std::vector<std::string>& keep) {
  return LinearLossFuser{training, no_support, keep}.run();
}

} // namespace troupe::nn
