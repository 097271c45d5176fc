/// Translates ops to ONNX: one function per op, which adds the op's nodes to a draft.
#pragma once

#include "nn/onnx/draft.hpp"

namespace troupe::nn::onnx {

/// Adds a node of an evaluation graph. Errors: unsupported for an op without an ONNX form (by
/// name).
Status add_node(Draft& draft, const Node& node);

} // namespace troupe::nn::onnx
