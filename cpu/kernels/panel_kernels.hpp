/// Products of rows of pixels in f32, for convolutions. The right matrix of a product is packed in
/// panels of 16 columns, (columns / 16, depth, 16). Rows are given by their addresses, so that they
/// may be any pixels of an image. Precondition: columns and inputs are multiples of 16.
///
/// The loops are those of BLIS (Van Zee & van de Geijn 2015): sums of a few rows and panels stay in
/// registers while a part of the panels stays in the first-level cache.
#pragma once

#include <cstddef>

namespace troupe::cpu {

/// The left matrix: `count` rows.
struct PixelRows {
  const float* const* rows;
  std::size_t count;
};

/// The right matrix as a weight stores it: row-major, or the transpose of a row-major matrix.
struct RightMatrix {
  const float* values;
  std::size_t distance; ///< from row to row in memory
  bool transposed;
};

/// result = the sum over taps of rows * panels. A tap is a position of a convolution's kernel.
struct PanelProduct {
  PixelRows left; ///< rows of the first tap, then those of the others
  std::size_t taps = 1;
  std::size_t depth, columns; ///< of a tap
  const float* panels;        ///< their depth is that of all taps
  float* result;
  std::size_t result_distance; ///< from row to row
};

/// A block of a weight's gradient: the sum over pixels of dy * x^T.
struct PanelGradient {
  PixelRows x = {};
  const float* dy = nullptr; ///< row of the first pixel
  std::size_t dy_distance;   ///< from pixel to pixel
  std::size_t first_input, inputs, first_output, outputs;
  float* sums = nullptr;     ///< first element of the block
  std::size_t sums_distance; ///< from output to output
  bool add = false;          ///< else the sums are overwritten
};

struct PanelKernels {
  static constexpr std::size_t panel = 16;
  /// Most pixels and channels of a gradient.
  static constexpr std::size_t most_pixels = 256, most_channels = 256;
  /// Floats of scratch for a gradient.
  static constexpr std::size_t gradient_scratch_floats =
      (most_pixels + panel) * (most_channels + panel);

  /// Packs a (depth, columns) matrix into panels whose depth is `panel_depth`.
  void (*pack)(const RightMatrix& matrix, std::size_t depth, std::size_t columns, float* panels,
               std::size_t panel_depth);
  void (*multiply)(const PanelProduct& product);
  void (*gradient)(const PanelGradient& gradient, float* scratch);
};

} // namespace troupe::cpu
