#include "nn/passes/fuse_training.hpp"

#include "nn/passes/detail/fusion_draft.hpp"

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

} // namespace

Graph fuse_loss(const Graph& training, const FusionSupport& support,
                const std::vector<std::string>& keep) {
  return support.microseconds ? LossFuser{training, support, keep}.run() : training;
}

} // namespace troupe::nn
