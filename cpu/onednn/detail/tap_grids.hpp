/// The pixels that a convolution of NHWC images reads and writes, tap by tap. A tap is a position
/// of its kernel.
#pragma once

#include "cpu/onednn/detail/primitives.hpp"

#include <cstddef>
#include <vector>

namespace troupe::cpu {

struct KernelTap {
  std::size_t weight;         ///< row * kernel + column, in the kernel
  std::ptrdiff_t row, column; ///< of the pixel that it reads for a grid's first pixel
};

/// Pixels of the result that read the same taps. Backward to the data of a strided convolution has
/// a grid for each remainder of row and column by the stride; all others have one grid.
struct TapGrid {
  std::size_t row, column;     ///< of its first pixel in an image of the result
  std::size_t height, width;   ///< its pixels in an image
  std::vector<KernelTap> taps; ///< none: the pixels are zero

  std::size_t pixels() const { return height * width; }
};

class TapGrids {
public:
  /// `forward`: reads x and writes y; else reads dy and writes dx.
  TapGrids(const ConvolutionProblem& problem, bool forward);

  const std::vector<TapGrid>& all() const { return grids_; }
  std::size_t most_taps() const;
  /// Pixels of a row, and of an image, of the result.
  std::size_t width() const { return written_.width; }
  std::size_t pixels() const { return written_.height * written_.width; }
  /// The distance of a grid's neighbours in the result, in both dimensions.
  std::size_t spread() const { return spread_; }

  /// Returns how many pixels of a grid lie before a pixel of the result. Both count through all
  /// images. Precondition: the pixel begins a row, or spread() is 1.
  std::size_t before(const TapGrid& grid, std::size_t pixel) const;
  /// Returns the pixel of the result where a grid's pixel lies.
  std::size_t written(const TapGrid& grid, std::size_t pixel) const;
  /// Writes the addresses of what a tap reads for `count` pixels of a grid: pixels of images that
  /// begin at `from`, or `zeros` beyond an image's border.
  void read(const float* from, const TapGrid& grid, const KernelTap& tap, std::size_t first,
            std::size_t count, const float* zeros, const float** rows) const;

private:
  struct Image {
    std::size_t height, width, channels;
  };

  Image written_, read_;
  std::size_t spread_, step_; ///< step_: the distance of a grid's neighbours in what is read
  std::vector<TapGrid> grids_;
};

} // namespace troupe::cpu
