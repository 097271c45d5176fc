/// Kernels in bf16 for processors with AMX tiles: logits of a language model's head
/// (logits_amx.cpp) and gradients of a linear layer's weights (weight_gradient_amx.cpp).
#pragma once

#include "cpu/kernels/detail/views.hpp"

namespace troupe::cpu {

/// Some rows of a linear_cross_entropy in bf16. Its logits are computed for a block of classes at a
/// time and never stored in full.
struct LossRows {
  std::size_t count, width;
  const float* packed; ///< written by LogitKernels::pack
};
/// Consecutive classes and their rows of the weight, which are multiplied as bf16.
struct LogitBlock {
  std::size_t first, count;
  const float* weight;
};
/// By row, over the classes of some blocks: the largest logit, the sum of e^(logit - most), the sum
/// of the logits, and the label's logit if the label is one of these classes.
struct LogitSums {
  float *most, *exponentials, *all, *of_label;
};
/// The gradient of a logit is (e^(logit - total) - spread) * factor, less `of_label` for the
/// label's logit; 0 if the factor is 0.
struct LogitGradients {
  const float *total, *factor; ///< by row
  float spread, of_label;
  float* dx;                ///< packed: LogitKernels::dx_floats()
  float* dweight;           ///< the block's rows
  bool add_dx, add_dweight; ///< else they are overwritten
};

/// Operations of a head on rows and blocks. Each call needs scratch_floats() for blocks of up to
/// most_classes. Null if the processor has no tiles.
struct LogitKernels {
  static constexpr std::size_t most_classes = 256;
  /// Rows are packed in blocks of this size, and arrays by row have whole blocks.
  static constexpr std::size_t row_block = 32;

  std::size_t (*packed_floats)(std::size_t rows, std::size_t width);
  std::size_t (*dx_floats)(std::size_t rows, std::size_t width);
  std::size_t (*scratch_floats)(std::size_t rows, std::size_t width);
  /// Packs rows [begin, end) of x, which has rows of `width`; begin is a multiple of row_block.
  void (*pack)(const LossRows& rows, const Bf16* x, float* packed, std::size_t begin,
               std::size_t end);
  void (*sums)(const LossRows& rows, const LogitBlock& block, const std::int32_t* labels,
               const LogitSums& sums, float* scratch);
  void (*gradients)(const LossRows& rows, const LogitBlock& block, const std::int32_t* labels,
                    const LogitGradients& gradients, float* scratch);
  /// Writes rows [begin, end) of dx: the sum of `parts` packed ones, `distance` floats from one to
  /// the next.
  void (*unpack)(const LossRows& rows, const float* packed, std::size_t distance, std::size_t parts,
                 Bf16* dx, std::size_t begin, std::size_t end);
};

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
