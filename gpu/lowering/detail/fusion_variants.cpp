#include "gpu/lowering/detail/fusion_variants.hpp"

#include "gpu/lowering/convolution_graph.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::gpu {

namespace {

class Variants {
public:
  explicit Variants(const Graph& graph) : graph_{graph} {
    for (const auto& node : graph.nodes)
      if (std::holds_alternative<Conv2dAttributes>(node.attributes))
        add_all(node);
  }

  std::vector<cudnn::OperationGraph> take() { return std::move(all_); }

private:
  void add_all(const Node& node) {
    add(node, [](Conv2dAttributes&) {});
    if (node.op == Op::conv2d)
      add_forward(node);
    if (node.op == Op::conv2d_backward_data)
      add_backward_data(node);
    if (node.op == Op::conv2d_backward_weight && normalizes(maker(node.inputs[1])))
      add(node, [](Conv2dAttributes& a) { a.prologue = true; });
  }

  void add_forward(const Node& node) {
    if (reader(node.outputs[0], Op::batch_norm))
      add(node, [](Conv2dAttributes& a) { a.statistics = true; });
    const auto* const end = maker(node.inputs[0]);
    if (!joins(end, Op::batch_norm) || !attributes(*end).relu)
      return;
    add(node, [residual = residual_of(*end)](Conv2dAttributes& a) {
      a.statistics = a.prologue = true;
      a.residual = residual;
    });
  }

  void add_backward_data(const Node& node) {
    const auto dx = node.outputs[0];
    for (const auto& reader : graph_.nodes)
      if (std::ranges::count(reader.inputs, dx) > 0 && reader.op == Op::add)
        add_masked(node, reader.outputs[0], true);
    add_masked(node, dx, false);
  }

  /// `dy`: the whole gradient of the convolution's input: this node's output, or a sum that
  /// includes it (`added`).
  void add_masked(const Node& node, TensorId dy, bool added) {
    const auto* const backward = reader(dy, Op::batch_norm_backward);
    if (!backward || !attributes(*backward).relu)
      return;
    const auto* const end = maker(backward->inputs[5]);
    add(node, [added, residual = residual_of(*end)](Conv2dAttributes& a) {
      a.batch_norm_relu = true;
      a.residual = residual;
      a.add_gradient = added;
    });
  }

  template <class Change>
  void add(Node node, Change change) {
    change(std::get<Conv2dAttributes>(node.attributes));
    if (node.op != Op::conv2d || has_pattern(node))
      std::ranges::move(convolution_graphs(graph_, node), std::back_inserter(all_));
  }

  static const BatchNormAttributes& attributes(const Node& node) {
    return std::get<BatchNormAttributes>(node.attributes);
  }
  static bool joins(const Node* node, Op op) {
    return node && node->op == op && attributes(*node).training && !attributes(*node).synchronized;
  }
  static bool normalizes(const Node* node) {
    return joins(node, Op::batch_norm) && attributes(*node).relu && !attributes(*node).add;
  }

  /// Returns the residual that a batch norm adds. The result of another batch norm is most likely
  /// not stored by itself, so its input counts as the residual.
  Residual residual_of(const Node& end) const {
    if (!attributes(end).add)
      return Residual::none;
    const auto* const other = maker(end.inputs[5]);
    return joins(other, Op::batch_norm) && !attributes(*other).relu ? Residual::normalized
                                                                    : Residual::plain;
  }

  const Node* maker(TensorId id) const {
    const auto found = std::ranges::find_if(
        graph_.nodes, [id](const Node& node) { return std::ranges::count(node.outputs, id) > 0; });
    return found == graph_.nodes.end() ? nullptr : &*found;
  }
  /// Returns the batch norm, forward or backward, that has the tensor as its first input.
  const Node* reader(TensorId id, Op op) const {
    const auto found = std::ranges::find_if(graph_.nodes, [id, op](const Node& node) {
      return joins(&node, op) && node.inputs[0] == id;
    });
    return found == graph_.nodes.end() ? nullptr : &*found;
  }

  const Graph& graph_;
  std::vector<cudnn::OperationGraph> all_;
};

} // namespace

std::vector<cudnn::OperationGraph> fusion_variants(const Graph& training) {
  return Variants{training}.take();
}

} // namespace troupe::gpu
