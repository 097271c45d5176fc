/// Gradients of a linear layer's weights in bf16, by processors with tiles
/// (weight_gradient_amx.cpp).
#pragma once

#include "cpu/kernels/detail/views.hpp"

namespace troupe::cpu {

/// Some rows of a layer's input or of its output's gradient.
struct ActivationRows {
  const Bf16* first;
  std::size_t count, width;
};
/// Some rows of dweight, (out, in): as many of dy's columns, from `first` on.
struct GradientBlock {
  std::size_t first, count;
  float* sums;    ///< of the block: WeightGradientKernels::sums_floats()
  bool add;       ///< to the sums of rows before
  float* dweight; ///< all of it, written with the last rows; null before
};

/// dweight = dy^T * x, a chunk of rows after the other: x is packed once for all blocks. Null where
/// the processor has no tiles.
struct WeightGradientKernels {
  static constexpr std::size_t most_rows = 1024, most_outputs = 256;
  /// Rows are packed so many at a time.
  static constexpr std::size_t row_block = 32;

  /// Of most_rows.
  std::size_t (*packed_floats)(std::size_t in);
  /// Of a block of most_outputs.
  std::size_t (*sums_floats)(std::size_t in);
  /// What a block works in.
  std::size_t (*scratch_floats)();
  /// Packs rows [begin, end) of x, where begin is a multiple of row_block.
  void (*pack)(const ActivationRows& x, float* packed, std::size_t begin, std::size_t end);
  void (*multiply)(const ActivationRows& dy, const float* packed, std::size_t in,
                   const GradientBlock& block, float* scratch);
};

} // namespace troupe::cpu
