/// Products of matrices, and sums of their elements.
#pragma once

#include "tests/emulation/cudnn/array.hpp"

#include <cudnn.h>

namespace emulation::cudnn {

/// to[i] += sum of factors[j]·rows[j·stride + i], in the order of j.
void add_rows(float* to, std::int64_t count, const float* rows, std::int64_t stride,
              const float* factors, std::int64_t factor_count);

/// Multiplies (batch, head, M, K) by (batch, head, K, N); a batch or a group of heads can share a
/// matrix. Sums are f32.
Array multiply(const Array& a, const Array& b, const Dims& dims);
/// Reduces axes to those of `dims`: to 1, or heads to groups of heads. Sums are f64.
Array reduce(const Array& x, cudnnReduceTensorOp_t mode, const Dims& dims);

} // namespace emulation::cudnn
