/// Gradients of a linear layer's weights in bf16, for processors with AMX tiles
/// (weight_gradient_amx.cpp).
#pragma once

#include "cpu/kernels/detail/views.hpp"

namespace troupe::cpu {

/// Some rows of a layer's input or of its output's gradient.
struct ActivationRows {
  const Bf16* first;
  std::size_t count, width;
};
/// Some rows of dweight, (out, in): the same number of columns of dy, from `first` on.
struct GradientBlock {
  std::size_t first, count;
  float* sums;    ///< of the block: WeightGradientKernels::sums_floats()
  bool add;       ///< adds to the sums of earlier rows
  float* dweight; ///< the whole gradient, written with the last rows; null before
};

/// dweight = dy^T * x, one chunk of rows after the other: x is packed once for all blocks. Null if
/// the processor has no tiles.
struct WeightGradientKernels {
  static constexpr std::size_t most_rows = 1024, most_outputs = 256;
  /// Rows are packed in blocks of this size.
  static constexpr std::size_t row_block = 32;

  /// For most_rows rows.
  std::size_t (*packed_floats)(std::size_t in);
  /// For a block of most_outputs.
  std::size_t (*sums_floats)(std::size_t in);
  /// Scratch of a block.
  std::size_t (*scratch_floats)();
  /// Packs rows [begin, end) of x, where begin is a multiple of row_block.
  void (*pack)(const ActivationRows& x, float* packed, std::size_t begin, std::size_t end);
  void (*multiply)(const ActivationRows& dy, const float* packed, std::size_t in,
                   const GradientBlock& block, float* scratch);
};

} // namespace troupe::cpu
