#include "nn/passes/fold_batch_norm.hpp"

#include "nn/passes/detail/fusion_draft.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace troupe::nn {

namespace {

double factor(float scale, float variance, float eps) {
  return double{scale} / std::sqrt(double{variance} + double{eps});
}

class BatchNormFolder : FusionDraft {
public:
  BatchNormFolder(const Graph& graph, const std::vector<std::string>& keep)
      : FusionDraft{graph, no_support, keep} {}

  FoldedGraph run() && {
    FoldedGraph folded;
    for (auto& node : nodes_)
      if (const auto convolution = convolution_before(node)) {
        folded.foldings.push_back(folding(nodes_[*convolution], node));
        // The joined node takes the batch norm's position, because its residual may be computed
        // after the convolution.
        node = join(nodes_[*convolution], node);
        drop(*convolution);
      }
    folded.graph = std::move(*this).take();
    return folded;
  }

private:
  /// Returns the convolution whose only reader is this batch norm.
  std::optional<NodeIndex> convolution_before(const Node& node) const {
    if (node.op != Op::batch_norm || std::get<BatchNormAttributes>(node.attributes).training)
      return std::nullopt;
    const auto x = node.inputs[0];
    const auto made = maker(x, Op::conv2d);
    if (!made || nodes_[*made].unit != node.unit || is_kept(x) ||
        !std::all_of(node.inputs.begin(), node.inputs.begin() + 5,
                     [this](TensorId id) { return has_one_reader(id); }))
      return std::nullopt;
    const auto& found = nodes_[*made];
    return std::get<Conv2dAttributes>(found.attributes).bias || !has_one_reader(found.inputs[1])
               ? std::nullopt
               : made;
  }

  BatchNormFolding folding(const Node& convolution, const Node& batch_norm) const {
    const auto name = [&](std::size_t input) { return graph_[batch_norm.inputs[input]].name; };
    return {.weight = graph_[convolution.inputs[1]].name,
            .scale = name(1),
            .shift = name(2),
            .mean = name(3),
            .variance = name(4),
            .eps = std::get<BatchNormAttributes>(batch_norm.attributes).eps};
  }

  Node join(Node convolution, const Node& batch_norm) {
    const auto& norm = std::get<BatchNormAttributes>(batch_norm.attributes);
    auto& attributes = std::get<Conv2dAttributes>(convolution.attributes);
    attributes.bias = true;
    attributes.add = norm.add;
    attributes.relu = norm.relu;
    convolution.inputs.push_back(batch_norm.inputs[2]);
    if (norm.add)
      convolution.inputs.push_back(batch_norm.inputs[5]);
    convolution.outputs[0] = batch_norm.outputs[0];
    for (const auto input : {1, 3, 4}) // unused activations are removed
      graph_[batch_norm.inputs[static_cast<std::size_t>(input)]].role = Role::activation;
    return convolution;
  }
};

} // namespace

void BatchNormFolding::fold_weight(std::span<float> values, std::span<const float> scale_values,
                                   std::span<const float> variance_values) const {
  const auto taps = values.size() / scale_values.size();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(double{values[i]} *
                                   factor(scale_values[i / taps], variance_values[i / taps], eps));
}

void BatchNormFolding::fold_bias(std::span<float> shift_values, std::span<const float> scale_values,
                                 std::span<const float> mean_values,
                                 std::span<const float> variance_values) const {
  for (std::size_t c = 0; c < shift_values.size(); ++c)
    shift_values[c] = static_cast<float>(double{shift_values[c]} -
                                         double{mean_values[c]} *
                                             factor(scale_values[c], variance_values[c], eps));
}

FoldedGraph fold_batch_norm(const Graph& evaluation, const std::vector<std::string>& keep) {
  return BatchNormFolder{evaluation, keep}.run();
}

} // namespace troupe::nn
