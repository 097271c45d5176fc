/// Logits of a language model's head in bf16, by processors with tiles (logits_amx.cpp).
#pragma once

#include "cpu/kernels/detail/views.hpp"

namespace troupe::cpu {

/// Some rows of a linear_cross_entropy in bf16, whose logits are made for a block of classes at a
/// time and never lie in memory.
struct LossRows {
  std::size_t count, width;
  const float* packed; ///< what LogitKernels::pack has written
};
/// Classes that follow each other, and their rows of the weight, which are multiplied as bf16.
struct LogitBlock {
  std::size_t first, count;
  const float* weight;
};
/// By row, of the classes of some blocks: the largest logit, the sum of e^(logit - most), the sum
/// of the logits, and the label's, where the label is one of these classes.
struct LogitSums {
  float *most, *exponentials, *all, *of_label;
};
/// The gradient of a logit is (e^(logit - total) - spread) * factor, less `of_label` where it is
/// the label's; 0 where the factor is.
struct LogitGradients {
  const float *total, *factor; ///< by row
  float spread, of_label;
  float* dx;                ///< packed: LogitKernels::dx_floats()
  float* dweight;           ///< the block's rows
  bool add_dx, add_dweight; ///< else they are written
};

/// What a head does with rows and blocks. Each call works in scratch_floats(), of which the most
/// are for blocks of most_classes. Null where the processor has no tiles.
struct LogitKernels {
  static constexpr std::size_t most_classes = 256;
  /// Rows are packed so many at a time, and arrays by row have whole blocks of them.
  static constexpr std::size_t row_block = 32;

  std::size_t (*packed_floats)(std::size_t rows, std::size_t width);
  std::size_t (*dx_floats)(std::size_t rows, std::size_t width);
  std::size_t (*scratch_floats)(std::size_t rows, std::size_t width);
  /// Packs x, rows by `width`; rows [begin, end) alone, where begin is a multiple of row_block.
  void (*pack)(const LossRows& rows, const Bf16* x, float* packed, std::size_t begin,
               std::size_t end);
  void (*sums)(const LossRows& rows, const LogitBlock& block, const std::int32_t* labels,
               const LogitSums& sums, float* scratch);
  void (*gradients)(const LossRows& rows, const LogitBlock& block, const std::int32_t* labels,
                    const LogitGradients& gradients, float* scratch);
  /// Rows [begin, end) of dx, from `parts` packed ones that are added up, `distance` floats from
  /// one to the next.
  void (*unpack)(const LossRows& rows, const float* packed, std::size_t distance, std::size_t parts,
                 Bf16* dx, std::size_t begin, std::size_t end);
};

} // namespace troupe::cpu
