#include "nn/passes/fold_batch_norm.hpp"

#include "nn/passes/detail/rewrite.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace troupe::nn {

namespace {

double factor(float scale, float variance, float eps) {
  return double{scale} / std::sqrt(double{variance} + double{eps});
}

class BatchNormFolder {
public:
  BatchNormFolder(const Graph& graph, const std::vector<std::string>& keep)
      : graph_{graph}, keep_{keep}, uses_{count_uses(graph)} {}

  FoldedGraph run() && {
    FoldedGraph folded;
    std::vector<Node> nodes;
    for (const auto& node : graph_.nodes) {
      const auto convolution = convolution_before(node, nodes);
      if (!convolution) {
        nodes.push_back(node);
        continue;
      }
      folded.foldings.push_back(folding(nodes[*convolution], node));
      // The joined node takes the batch norm's position, because its residual may be computed after
      // the convolution.
      auto joined = join(nodes[*convolution], node);
      nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(*convolution));
      nodes.push_back(std::move(joined));
    }
    graph_.nodes = std::move(nodes);
    folded.graph = drop_unused_tensors(graph_);
    return folded;
  }

private:
  bool is_used_once(TensorId id) const { return uses_[static_cast<std::size_t>(id)] == 1; }

  /// Returns the index of the convolution whose only reader is this batch norm.
  std::optional<std::size_t> convolution_before(const Node& node,
                                                const std::vector<Node>& nodes) const {
    if (node.op != Op::batch_norm || std::get<BatchNormAttributes>(node.attributes).training)
      return std::nullopt;
    const auto x = node.inputs[0];
    if (!is_used_once(x) || std::ranges::count(keep_, graph_[x].name) > 0 ||
        !std::all_of(node.inputs.begin() + 1, node.inputs.begin() + 5,
                     [this](TensorId id) { return is_used_once(id); }))
      return std::nullopt;
    const auto found = std::ranges::find_if(nodes, [&](const Node& made) {
      return made.op == Op::conv2d && made.outputs[0] == x && made.unit == node.unit;
    });
    if (found == nodes.end() || std::get<Conv2dAttributes>(found->attributes).bias ||
        !is_used_once(found->inputs[1]))
      return std::nullopt;
    return static_cast<std::size_t>(found - nodes.begin());
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

  Graph graph_;
  const std::vector<std::string>& keep_;
  std::vector<int> uses_;
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
