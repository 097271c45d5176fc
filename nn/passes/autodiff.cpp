#include "autodiff.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

bool is_loss(Op op) {
  return op == Op::softmax_cross_entropy || op == Op::mean_squared_error;
}

/// Whether an output's gradient has a part for this input.
bool flows_to(const Node& node, std::size_t input) {
  switch (node.op) {
  case Op::batch_norm:
    return input != 3 && input != 4; // running statistics
  case Op::softmax_cross_entropy:
  case Op::mean_squared_error:
    return input == 0;
  case Op::count_correct:
    return false;
  default:
    return true;
  }
}

class Differentiator {
public:
  explicit Differentiator(Graph forward)
      : graph_{std::move(forward)}, needs_(graph_.tensors.size()), pending_(graph_.tensors.size()),
        parts_(graph_.tensors.size()), sums_(graph_.tensors.size()),
        gradients_(graph_.tensors.size(), -1) {}

  Result<Graph> run() && {
    const auto forward_nodes = graph_.nodes.size();
    std::size_t losses = 0;
    for (const auto& node : graph_.nodes) {
      mark_needs(node);
      losses += is_loss(node.op) ? 1 : 0;
    }
    if (losses != 1)
      return fail(Errc::internal, "autodiff needs one loss, the graph has {}", losses);
    for (std::size_t i = forward_nodes; i-- > 0;)
      count_pending(graph_.nodes[i]);
    for (std::size_t i = forward_nodes; i-- > 0;) {
      // By value: emitting nodes moves them.
      const Node node = graph_.nodes[i];
      TROUPE_TRY(differentiate(node));
    }
    return std::move(graph_);
  }

private:
  bool needs(TensorId id) const { return needs_[static_cast<std::size_t>(id)]; }

  /// Which tensors depend on parameters.
  void mark_needs(const Node& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto id = static_cast<std::size_t>(node.inputs[i]);
      if (!flows_to(node, i))
        continue;
      if (graph_.tensors[id].role == Role::parameter)
        needs_[id] = true;
      if (needs_[id])
        needs_[static_cast<std::size_t>(node.outputs[0])] = true;
    }
  }

  /// How many gradients will flow into each tensor; called from the last node to the first.
  void count_pending(const Node& node) {
    if (!is_loss(node.op) && pending_[static_cast<std::size_t>(node.outputs[0])] == 0)
      return; // the loss does not depend on it
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (flows_to(node, i))
        ++pending_[static_cast<std::size_t>(node.inputs[i])];
  }

  TensorId new_gradient(TensorId of, const std::string& name) {
    const auto& tensor = graph_[of];
    const bool whole = name.ends_with(".grad");
    const bool parameter = tensor.role == Role::parameter;
    return graph_.add_tensor({name, tensor.shape, tensor.dtype,
                              parameter && whole ? Role::gradient : Role::activation, tensor.unit,
                              parameter && whole ? of : -1});
  }

  /// A tensor for one consumer's contribution to a gradient; give it to contribute() once a node
  /// that writes it is emitted.
  TensorId contribution(TensorId of) {
    const auto i = static_cast<std::size_t>(of);
    const auto& name = graph_[of].name;
    return new_gradient(of, pending_[i] == 1 ? name + ".grad"
                                             : fmt::format("{}.grad.part{}", name, parts_[i]++));
  }

  void emit(Op op, const Node& forward, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
            Attributes attributes) {
    graph_.add_node({op, std::move(inputs), std::move(outputs), std::move(attributes),
                     Phase::backward, forward.unit});
  }

  void contribute(const Node& forward, TensorId of, TensorId part) {
    const auto i = static_cast<std::size_t>(of);
    auto& sum = gradients_[i];
    if (sum < 0) {
      sum = part;
    } else {
      const bool last = ++sums_[i] + 1 == pending_[i];
      const auto name = graph_[of].name;
      const auto total =
          new_gradient(of, last ? name + ".grad" : fmt::format("{}.grad.sum{}", name, sums_[i]));
      emit(Op::add, forward, {sum, part}, {total}, {});
      gradients_[i] = total;
    }
  }

  /// One node that makes the gradient of one input.
  void propagate(Op op, const Node& forward, std::size_t input, std::vector<TensorId> inputs) {
    const auto of = forward.inputs[input];
    if (!needs(of))
      return;
    const auto part = contribution(of);
    emit(op, forward, std::move(inputs), {part}, forward.attributes);
    contribute(forward, of, part);
  }

  Status differentiate(const Node& node) {
    if (is_loss(node.op)) {
      const bool entropy = node.op == Op::softmax_cross_entropy;
      propagate(entropy ? Op::softmax_cross_entropy_backward : Op::mean_squared_error_backward,
                node, 0, {entropy ? node.outputs[1] : node.inputs[0], node.inputs[1]});
      return {};
    }
    const auto dy = gradients_[static_cast<std::size_t>(node.outputs[0])];
    if (dy < 0)
      return {}; // nothing that the loss depends on
    switch (node.op) {
    case Op::conv2d:
      // The weight's gradient first: afterwards x's memory is free for dx.
      propagate(Op::conv2d_backward_weight, node, 1, {dy, node.inputs[0]});
      propagate(Op::conv2d_backward_data, node, 0, {dy, node.inputs[1]});
      return {};
    case Op::matmul:
      if (node.inputs.size() == 3)
        propagate(Op::bias_backward, node, 2, {dy});
      propagate(Op::matmul_backward_weight, node, 1, {dy, node.inputs[0]});
      propagate(Op::matmul_backward_data, node, 0, {dy, node.inputs[1]});
      return {};
    case Op::bias:
      propagate(Op::bias_backward, node, 1, {dy});
      return pass_on(node, 0, dy);
    case Op::add:
      TROUPE_TRY(pass_on(node, 0, dy));
      return pass_on(node, 1, dy);
    case Op::batch_norm:
      return differentiate_batch_norm(node, dy);
    case Op::relu:
      propagate(Op::relu_backward, node, 0, {dy, node.outputs[0]});
      return {};
    case Op::max_pool:
      propagate(Op::max_pool_backward, node, 0, {dy, node.outputs[1]});
      return {};
    case Op::avg_pool:
      propagate(Op::avg_pool_backward, node, 0, {dy});
      return {};
    case Op::subsample_pad:
      propagate(Op::subsample_pad_backward, node, 0, {dy});
      return {};
    case Op::flatten:
      propagate(Op::unflatten, node, 0, {dy});
      return {};
    case Op::cast:
      propagate(Op::cast, node, 0, {dy});
      return {};
    default:
      return fail(Errc::internal, "autodiff does not know {}", to_string(node.op));
    }
  }

  /// The gradient of the output is the gradient of the input: no node.
  Status pass_on(const Node& node, std::size_t input, TensorId dy) {
    const auto of = node.inputs[input];
    if (graph_[of].role == Role::parameter)
      return fail(Errc::internal, "{} is added to an activation: use bias", graph_[of].name);
    if (needs(of))
      contribute(node, of, dy);
    return {};
  }

  Status differentiate_batch_norm(const Node& node, TensorId dy) {
    const auto& attributes = std::get<BatchNormAttributes>(node.attributes);
    if (!attributes.training)
      return fail(Errc::internal, "{}: batch norm with running statistics has no backward",
                  graph_[node.outputs[0]].name);
    std::vector<TensorId> inputs = {dy, node.inputs[0], node.inputs[1], node.outputs[1],
                                    node.outputs[2]};
    if (attributes.relu)
      inputs.push_back(node.outputs[0]);
    std::vector<std::size_t> sources = {0, 1, 2};
    if (attributes.add)
      sources.push_back(5);
    std::vector<TensorId> outputs;
    for (const auto source : sources)
      outputs.push_back(contribution(node.inputs[source]));
    emit(Op::batch_norm_backward, node, std::move(inputs), outputs, attributes);
    for (std::size_t i = 0; i < sources.size(); ++i)
      contribute(node, node.inputs[sources[i]], outputs[i]);
    return {};
  }

  Graph graph_;
  std::vector<bool> needs_;
  std::vector<int> pending_;        ///< contributions that each tensor's gradient has in all
  std::vector<int> parts_;          ///< of them, made so far
  std::vector<int> sums_;           ///< and added up
  std::vector<TensorId> gradients_; ///< the sum of those contributed so far; -1: none
};

} // namespace

Result<Graph> autodiff(Graph forward) {
  return Differentiator{std::move(forward)}.run();
}

} // namespace troupe::nn
