/// Matrix products over rows of activations: 1x1 convolutions and fully connected layers.
#pragma once

#include "cpu/onednn/lowering.hpp"

#include <optional>

namespace troupe::cpu {

/// Every stride-th pixel of NHWC images: the input of a 1x1 convolution with a stride.
struct PixelGrid {
  std::int64_t height, width, channels, stride;
  std::int64_t out_height() const { return (height + stride - 1) / stride; }
  std::int64_t out_width() const { return (width + stride - 1) / stride; }
  /// Elements of an image.
  std::int64_t elements() const { return height * width * channels; }
};

/// Images of `rows` pixels of `in` channels (in a fully connected layer, an image is one pixel).
struct ProductProblem {
  std::int64_t images, rows, in, out;
  DType stored; ///< type of the activations in memory
  DType computed;
  std::optional<PixelGrid> grid = std::nullopt; ///< set if x is read with a stride
  bool bias = false;                            ///< the third input, which the product adds

  bool widens() const { return stored != computed; }
  /// Elements of x in memory, for one image.
  std::int64_t x_elements() const { return grid ? grid->elements() : rows * in; }
  double operations() const {
    return 2.0 * static_cast<double>(images * rows) * static_cast<double>(in * out);
  }
};

inline std::size_t bytes_of(std::int64_t elements, DType dtype) {
  return static_cast<std::size_t>(elements) * size_of(dtype);
}

/// Copies the grid's pixels to `to` (images, out_height, out_width, channels).
void gather_images(const ProductProblem& problem, std::int64_t images, const std::byte* from,
                   std::byte* to);

/// Lowers one of a layer's three products.
Result<StepPtr> lower_product(Lowering& lowering, const Node& node, const ProductProblem& problem,
                              Direction direction);
/// The product of lower_product() for Direction::backward_weight.
StepPtr lower_weight_product(const Lowering& lowering, const Node& node,
                             const ProductProblem& problem);

} // namespace troupe::cpu
