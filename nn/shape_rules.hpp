/// What every op takes and gives: shapes and dtypes.
///
/// Mixed precision: floating tensors of a node have one dtype (f32, bf16, f16), but parameters,
/// statistics, saved statistics and losses are f32 always. A convolution or matmul over bf16
/// takes the f32 weight itself and computes with the weight rounded to bf16; its bias is not
/// rounded; its weight gradient is f32. So it is with f16. Devices keep the rounded copy
/// (Executable::refresh).
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

/// Types of the outputs of a forward op, optional and saved ones included, by its record
/// (ops/record.hpp). `cast` has no rule: its output's dtype is a choice. Errors: invalid_input,
/// starting with the op's name and saying what was expected and what was found.
OutputTypes infer_outputs(Op op, const Attributes& attributes, Types inputs);

/// The type that a node reads an input in: what it has, but for f32 weights that are rounded to
/// what they are multiplied with.
DType read_type(const Graph& graph, const Node& node, std::size_t input);

/// The type that a node computes in: of its first input, or what a cast gives.
DType computed_type(const Graph& graph, const Node& node);

/// Whether the tensors of a node, forward or backward, fit together. Ids must be valid.
Status check_node(const Graph& graph, const Node& node);

} // namespace troupe::nn
