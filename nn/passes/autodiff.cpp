#include "nn/passes/autodiff.hpp"

#include "core/fail.hpp"
#include "nn/learning_rates.hpp"
#include "nn/ops/record.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

bool is_loss(const Node& node) {
  return record_of(node.op).kind == OpKind::loss;
}

bool flows_to(const Node& node, std::size_t input) {
  return record_of(node.op).flows_to.contains(input);
}

class Differentiator final : public Propagation {
public:
  Differentiator(Graph forward, const std::vector<std::string>& freeze)
      : graph_{std::move(forward)}, freeze_{freeze}, needs_(graph_.tensors.size()),
        pending_(graph_.tensors.size()), parts_(graph_.tensors.size()),
        sums_(graph_.tensors.size()), gradients_(graph_.tensors.size(), -1) {}

  Result<Graph> run() && {
    const auto forward_nodes = graph_.nodes.size();
    std::size_t losses = 0;
    for (const auto& node : graph_.nodes) {
      mark_needs(node);
      losses += is_loss(node) ? 1 : 0;
    }
    if (losses != 1)
      return fail(Errc::internal, "autodiff needs one loss, the graph has {}", losses);
    for (std::size_t i = forward_nodes; i-- > 0;)
      count_pending(graph_.nodes[i]);
    for (std::size_t i = forward_nodes; i-- > 0;) {
      // A copy, because adding nodes reallocates those of the graph.
      const Node node = graph_.nodes[i];
      TROUPE_TRY(differentiate(node));
    }
    return std::move(graph_);
  }

private:
  bool needs(TensorId id) const { return needs_[static_cast<std::size_t>(id)]; }

  bool is_frozen(const Tensor& parameter) const {
    return nn::is_frozen({parameter.name, graph_.units[static_cast<std::size_t>(parameter.unit)]},
                         freeze_);
  }

  /// Marks the tensors that depend on trained parameters.
  void mark_needs(const Node& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto id = static_cast<std::size_t>(node.inputs[i]);
      if (!flows_to(node, i))
        continue;
      if (graph_.tensors[id].role == Role::parameter && !is_frozen(graph_.tensors[id]))
        needs_[id] = true;
      if (needs_[id])
        needs_[static_cast<std::size_t>(node.outputs[0])] = true;
    }
  }

  /// Counts the gradients that will flow into each tensor; called from the last node to the first.
  void count_pending(const Node& node) {
    if (!is_loss(node) && pending_[static_cast<std::size_t>(node.outputs[0])] == 0)
      return; // the loss does not depend on the node
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

  /// Returns a tensor for one consumer's contribution to a gradient. Pass it to contribute() after
  /// emitting the node that writes it.
  TensorId contribution(TensorId of) {
    const auto i = static_cast<std::size_t>(of);
    const auto& name = graph_[of].name;
    return new_gradient(of, pending_[i] == 1 ? name + ".grad"
                                             : fmt::format("{}.grad.part{}", name, parts_[i]++));
  }

  void emit(Op op, const Node& forward, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
            const Attributes& attributes) {
    graph_.add_node(
        {op, std::move(inputs), std::move(outputs), attributes, Phase::backward, forward.unit});
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

  void propagate(Op op, const Node& forward, std::size_t input,
                 std::vector<TensorId> reads) override {
    if (needs(forward.inputs[input]))
      propagate_all(op, forward, {input}, std::move(reads));
  }

  void propagate_all(Op op, const Node& forward, const std::vector<std::size_t>& inputs,
                     std::vector<TensorId> reads) override {
    std::vector<TensorId> parts(inputs.size());
    std::ranges::transform(inputs, parts.begin(),
                           [&](std::size_t input) { return contribution(forward.inputs[input]); });
    emit(op, forward, std::move(reads), parts, forward.attributes);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      contribute(forward, forward.inputs[inputs[i]], parts[i]);
  }

  Status pass_on(const Node& forward, std::size_t input, TensorId dy) override {
    const auto of = forward.inputs[input];
    if (graph_[of].role == Role::parameter)
      return fail(Errc::internal, "{} is added to an activation: use bias", graph_[of].name);
    if (needs(of))
      contribute(forward, of, dy);
    return {};
  }

  Status differentiate(const Node& node) {
    const auto dy = gradients_[static_cast<std::size_t>(node.outputs[0])];
    if (dy < 0 && !is_loss(node))
      return {}; // the loss does not depend on the node
    if (std::ranges::none_of(node.inputs, [&](TensorId id) { return needs(id); }))
      return {}; // no input depends on a trained parameter
    const auto gradient = record_of(node.op).gradient;
    if (!gradient)
      return fail(Errc::internal, "autodiff does not support {}", to_string(node.op));
    if (const auto done = (*gradient)(*this, node, dy); !done)
      return fail(done.error().code, "{}: {}", graph_[node.outputs[0]].name, done.error().message);
    return {};
  }

  Graph graph_;
  const std::vector<std::string>& freeze_;
  std::vector<bool> needs_;
  std::vector<int> pending_;        ///< total contributions to each tensor's gradient
  std::vector<int> parts_;          ///< contributions created so far
  std::vector<int> sums_;           ///< contributions summed so far
  std::vector<TensorId> gradients_; ///< sum of contributions so far; -1: none
};

} // namespace

Result<Graph> autodiff(Graph forward, const std::vector<std::string>& freeze) {
  return Differentiator{std::move(forward), freeze}.run();
}

} // namespace troupe::nn
