#include "nn/passes/fuse_training.hpp"

#include "nn/passes/detail/fusion_draft.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

class LossFuser : FusionDraft {
public:
  using FusionDraft::FusionDraft;

  Graph run() && {
    for (NodeIndex i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].op == Op::softmax_cross_entropy)
        join(i);
    return std::move(*this).take();
  }

private:
  void join(NodeIndex loss) {
    const auto probabilities = nodes_[loss].outputs[1];
    if (is_kept(probabilities) || readers(probabilities).size() != 1)
      return;
    const auto backward = readers(probabilities).front();
    const auto& gradient = nodes_[backward];
    if (gradient.op != Op::softmax_cross_entropy_backward || gradient.unit != nodes_[loss].unit)
      return;
    auto fused = nodes_[loss];
    auto& attributes = std::get<LossAttributes>(fused.attributes);
    attributes.gradient = true;
    fused.inputs.insert(fused.inputs.end(), gradient.inputs.begin() + 2, gradient.inputs.end());
    fused.outputs[1] = gradient.outputs[0];
    auto apart = time(nodes_[loss]) + time(gradient);
    const auto count = count_of(nodes_[loss]);
    if (count) {
      attributes.correct = true;
      fused.outputs.push_back(nodes_[*count].outputs[0]);
      apart = apart + time(nodes_[*count]);
    }
    if (!choose("loss", nodes_[loss].inputs[0], {time(fused), apart}))
      return;
    nodes_[loss] = std::move(fused);
    drop(backward);
    if (count)
      drop(*count);
  }

  /// Returns the count_correct of the same logits and labels.
  std::optional<NodeIndex> count_of(const Node& loss) const {
    for (const auto reader : readers(loss.inputs[0]))
      if (nodes_[reader].op == Op::count_correct && nodes_[reader].inputs == loss.inputs)
        return reader;
    return std::nullopt;
  }
};

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

Graph fuse_loss(const Graph& training, const FusionSupport& support,
                const std::vector<std::string>& keep) {
  return support.microseconds ? LossFuser{training, support, keep}.run() : training;
}

Graph fuse_linear_loss(const Graph& training, const std::vector<std::string>& keep) {
  return LinearLossFuser{training, no_support, keep}.run();
}

} // namespace troupe::nn
