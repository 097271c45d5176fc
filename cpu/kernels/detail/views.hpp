/// Operands of kernels.
#pragma once

#include "core/device/optimizer_math.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

/// A bfloat16 in memory.
struct Bf16 {
  std::uint16_t bits;
};

/// An IEEE 754 binary16 in memory.
struct F16 {
  std::uint16_t bits;
};

struct OptimizerRange {
  float* parameters;
  const float* gradients;
  float* state0; ///< null if the optimizer has no state
  float* state1;
  std::size_t elements;
};

/// Per-channel kernels see a tensor as rows of `width` columns. The width is the number of channels
/// or a multiple of it, so that rows are long enough for vectors; values per channel are repeated
/// accordingly. The last row may be short.
struct Rows {
  std::size_t elements;
  std::size_t width;
};

/// Where a fused relu passed its input through: where y > 0, or where x * factor + offset > 0 (the
/// same without reading y). All null: no relu.
template <class T>
struct ReluMask {
  const T* y = nullptr;
  const float* factor = nullptr; ///< per column
  const float* offset = nullptr;
};

/// Sums over rows of v = dy where the mask is set, and of v * (x - mean).
template <class T>
struct BackwardSums {
  const T* dy;
  const T* x;
  ReluMask<T> mask;
  T* masked; ///< output v; only with mask.y, else null
  const float* mean;
  float* sum;
  float* sum_x;
};

/// The shape of a pooling; all tensors are NHWC.
struct PoolShape {
  std::size_t batch, height, width, channels, out_height, out_width, kernel_h, kernel_w, stride,
      padding;
};

/// A 3x3 convolution with stride 1 and padding 1; activations NHWC, weights (3, 3, in, out). The
/// channels are multiples of 16. A tile has 4x4 outputs, clipped to the image.
struct WinogradShape {
  std::size_t height, width, in, out;
};

constexpr std::size_t winograd_points = 36; ///< values of a transformed tile
/// Tiles processed at once. More are not faster: their matrices should leave room for the weights
/// in the core's second-level cache.
constexpr std::size_t winograd_block = 16;

/// For the bf16 kernels, whose tiles have 2x2 outputs and whose input channels are multiples of 32.
constexpr std::size_t winograd_bf16_points = 16;

/// y = convolution [+ bias] [+ residual], clipped at 0 if relu.
struct WinogradOutput {
  Bf16* y;
  const float* bias;    ///< by channel; or null
  const Bf16* residual; ///< shaped like y, may alias y; or null
  bool relu;
};

} // namespace troupe::cpu
