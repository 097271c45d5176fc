/// Actions that an op's gradient may take. passes/autodiff implements them.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <vector>

namespace troupe::nn {

class Propagation {
public:
  /// Adds one node, with the attributes of `forward`, that computes the gradient of one input from
  /// the tensors in `reads`. Adds nothing if that gradient is not needed.
  virtual void propagate(Op op, const Node& forward, std::size_t input,
                         std::vector<TensorId> reads) = 0;
  /// Adds one node that computes the gradients of several inputs, in the order of its outputs,
  /// including those that are not needed.
  virtual void propagate_all(Op op, const Node& forward, const std::vector<std::size_t>& inputs,
                             std::vector<TensorId> reads) = 0;
  /// Uses the gradient of the output as the gradient of an input, without a node. Errors: internal
  /// for a parameter, whose gradient must be a separate tensor.
  virtual Status pass_on(const Node& forward, std::size_t input, TensorId dy) = 0;

protected:
  ~Propagation() = default;
};

/// Adds the gradient of the first input, which `backward` computes only from dy.
template <Op backward>
Status propagate_dy(Propagation& to, const Node& node, TensorId dy) {
  to.propagate(backward, node, 0, {dy});
  return {};
}

/// Adds the gradient of the first input, which `backward` computes from dy and an input of the
/// node.
template <Op backward, std::size_t input>
Status propagate_with_input(Propagation& to, const Node& node, TensorId dy) {
  to.propagate(backward, node, 0, {dy, node.inputs[input]});
  return {};
}

/// Likewise from dy and an output of the node.
template <Op backward, std::size_t output>
Status propagate_with_output(Propagation& to, const Node& node, TensorId dy) {
  to.propagate(backward, node, 0, {dy, node.outputs[output]});
  return {};
}

} // namespace troupe::nn
