/// Compares gradients with central differences of the forward pass. The loss is the mean squared
/// distance of an op's output to a target.
#pragma once

#include "nn/builder.hpp"

#include <functional>

namespace troupe::nn::test {

/// Adds the op under test to `x` and returns its output.
using AddOp = std::function<TensorId(GraphBuilder&, TensorId x)>;

/// Fails the test when the op cannot be added.
Graph graph_of(const Shape& input, const AddOp& add_op);

/// Checks the gradient of every parameter.
void check_gradients(const Graph& forward);

} // namespace troupe::nn::test
