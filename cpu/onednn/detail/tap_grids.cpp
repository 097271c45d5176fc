#include "cpu/onednn/detail/tap_grids.hpp"

#include "cpu/onednn/detail/step.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

using Index = std::ptrdiff_t;

std::size_t size(Index value) {
  return static_cast<std::size_t>(value);
}

/// y at row r reads x at r * stride + tap - padding.
TapGrid forward_grid(const ConvolutionProblem& p) {
  TapGrid grid{0, 0, size(p.out_height), size(p.out_width), {}};
  for (Index row = 0; row < p.kernel; ++row)
    for (Index column = 0; column < p.kernel; ++column)
      grid.taps.push_back({size(row * p.kernel + column), row - p.padding, column - p.padding});
  return grid;
}

/// dx at row r reads dy at (r + padding - tap) / stride where that is a whole number.
TapGrid backward_grid(const ConvolutionProblem& p, Index first_row, Index first_column) {
  TapGrid grid{size(first_row),
               size(first_column),
               divide_up(size(p.height - first_row), size(p.stride)),
               divide_up(size(p.width - first_column), size(p.stride)),
               {}};
  for (Index row = 0; row < p.kernel; ++row)
    for (Index column = 0; column < p.kernel; ++column) {
      const Index down = first_row + p.padding - row, across = first_column + p.padding - column;
      if (down % p.stride == 0 && across % p.stride == 0)
        grid.taps.push_back({size(row * p.kernel + column), down / p.stride, across / p.stride});
    }
  return grid;
}

} // namespace

TapGrids::TapGrids(const ConvolutionProblem& p, bool forward)
    : written_{size(p.out_height), size(p.out_width), size(p.out)},
      read_{size(p.height), size(p.width), size(p.in)}, spread_{1}, step_{size(p.stride)} {
  if (forward) {
    grids_.push_back(forward_grid(p));
    return;
  }
  std::swap(written_, read_);
  std::swap(spread_, step_);
  for (Index row = 0; row < std::min(p.stride, p.height); ++row)
    for (Index column = 0; column < std::min(p.stride, p.width); ++column)
      grids_.push_back(backward_grid(p, row, column));
}

std::size_t TapGrids::most_taps() const {
  return std::ranges::max(grids_, {}, [](const TapGrid& grid) { return grid.taps.size(); })
      .taps.size();
}

std::size_t TapGrids::before(const TapGrid& grid, std::size_t pixel) const {
  if (spread_ == 1)
    return pixel;
  const std::size_t image = pixel / pixels(), row = pixel % pixels() / written_.width;
  const std::size_t rows = row > grid.row ? divide_up(row - grid.row, spread_) : 0;
  return image * grid.pixels() + rows * grid.width;
}

std::size_t TapGrids::written(const TapGrid& grid, std::size_t pixel) const {
  const std::size_t image = pixel / grid.pixels(), rest = pixel % grid.pixels();
  const std::size_t row = rest / grid.width * spread_ + grid.row;
  const std::size_t column = rest % grid.width * spread_ + grid.column;
  return image * pixels() + row * written_.width + column;
}

void TapGrids::read(const float* from, const TapGrid& grid, const KernelTap& tap, std::size_t first,
                    std::size_t count, const float* zeros, const float** rows) const {
  const std::size_t row_floats = read_.width * read_.channels;
  std::size_t row = first / grid.width, column = first % grid.width; // of all images
  for (const float** const end = rows + count; rows < end; ++row, column = 0) {
    // Before the first row or column, these wrap to values larger than any image.
    const std::size_t down = row % grid.height * step_ + size(tap.row);
    const float* const line = from + (row / grid.height * read_.height + down) * row_floats;
    for (; column < grid.width && rows < end; ++column, ++rows) {
      const std::size_t across = column * step_ + size(tap.column);
      const bool inside = down < read_.height && across < read_.width;
      *rows = inside ? line + across * read_.channels : zeros;
    }
  }
}

} // namespace troupe::cpu
