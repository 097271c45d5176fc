/// Operations on elements.
#pragma once

#include "tests/emulation/cudnn/array.hpp"

#include <cudnn.h>

namespace emulation::cudnn {

/// Returns the number of tensors that a mode reads; 0 if it is not emulated.
int inputs_of(cudnnPointwiseMode_t mode);
bool is_comparison(cudnnPointwiseMode_t mode);

/// Inputs of one shape and order. An input that a mode does not have is empty.
struct PointwiseInputs {
  std::vector<float> x, b, t; ///< b: dy of a backward mode; t: selects x where it is not 0
  float x_factor = 1, b_factor = 1;
};
/// For every mode but CUDNN_POINTWISE_GEN_INDEX.
std::vector<float> pointwise(cudnnPointwiseMode_t mode, const PointwiseInputs& inputs);

/// Returns the place of every element along an axis.
Array indices_along(std::int64_t axis, const Dims& dims, const Dims& like);

} // namespace emulation::cudnn
