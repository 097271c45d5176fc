/// What ops become in ONNX: a function each, which adds the op's nodes to a draft.
#pragma once

#include "nn/onnx/draft.hpp"

namespace troupe::nn::onnx {

/// Adds a node of a graph that is for evaluation. Errors: unsupported for an op that has no form
/// here (named).
Status add_node(Draft& draft, const Node& node);

} // namespace troupe::nn::onnx
