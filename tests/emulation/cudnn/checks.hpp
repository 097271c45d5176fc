/// Checks of single tensors and operations. Each function returns a reason; empty when there is
/// nothing to object to.
#pragma once

#include "tests/emulation/cudnn/graph.hpp"

#include <string>

namespace emulation::cudnn {

/// The reason continues a sentence that begins with the tensor.
std::string problem_of(const Tensor& tensor);
std::string problem_of_output(const Tensor& tensor);
std::string problem_of(const Graph& graph, const Node& node);

/// Operations of images, in channels-last layout; and of matrices, in any layout.
std::string problem_of_image_node(const Graph& graph, const Node& node);
std::string problem_of_matrix_node(const Graph& graph, const Node& node);

} // namespace emulation::cudnn
