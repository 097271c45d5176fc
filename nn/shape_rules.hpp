/// Shapes and dtypes of every op's inputs and outputs.
///
/// Mixed precision: floating tensors of a node have one dtype (f32, bf16, f16), but parameters,
/// statistics, saved statistics and losses are always f32. A convolution or matmul over bf16 takes
/// the f32 weight and computes with the weight rounded to bf16. Its bias is not rounded; its weight
/// gradient is f32. The same applies to f16. Devices keep the rounded copy (Executable::refresh).
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <span>
#include <vector>

namespace troupe::nn {

struct TensorType {
  Shape shape;
  DType dtype = DType::f32;
  bool operator==(const TensorType&) const = default;
};

using Types = std::span<const TensorType>;
using OutputTypes = Result<std::vector<TensorType>>;

/// Returns the types of a forward op's outputs, including optional and saved ones, by its record
/// (ops/record.hpp). `cast` has no rule, because its output's dtype is a choice. Errors:
/// invalid_input, with the op's name, the expected and the found value.
OutputTypes infer_outputs(Op op, const Attributes& attributes, Types inputs);

/// Returns the type in which a node reads an input. This is the input's type, except for f32
/// weights, which are rounded to the type of the tensor that they multiply.
DType read_type(const Graph& graph, const Node& node, std::size_t input);

/// Returns the type in which a node computes: that of its first input, or of its output for a cast.
DType computed_type(const Graph& graph, const Node& node);

/// Checks that the tensors of a node, forward or backward, match. Precondition: its ids are valid.
Status check_node(const Graph& graph, const Node& node);

} // namespace troupe::nn
