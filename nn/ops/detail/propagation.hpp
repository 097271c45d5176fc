/// What an op's gradient may do. passes/autodiff implements it.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <vector>

namespace troupe::nn {

class Propagation {
public:
  /// Adds one node, with the attributes of `forward`, that makes the gradient of one of its inputs
  /// from what the node `reads`; where nobody needs that gradient, nothing.
  virtual void propagate(Op op, const Node& forward, std::size_t input,
                         std::vector<TensorId> reads) = 0;
  /// Likewise the gradients of several inputs, in the order of the new node's outputs: all of them,
  /// needed or not.
  virtual void propagate_all(Op op, const Node& forward, const std::vector<std::size_t>& inputs,
                             std::vector<TensorId> reads) = 0;
  /// The gradient of the output is the gradient of an input: no node. Errors: internal for a
  /// parameter, whose gradient must be a tensor of its own.
  virtual Status pass_on(const Node& forward, std::size_t input, TensorId dy) = 0;

protected:
  ~Propagation() = default;
};

/// The gradient of the first input, which `backward` makes from dy alone.
template <Op backward>
Status propagate_dy(Propagation& to, const Node& node, TensorId dy) {
  to.propagate(backward, node, 0, {dy});
  return {};
}

} // namespace troupe::nn
