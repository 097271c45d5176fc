// Tests which pixels a convolution reads and writes, tap by tap.
#include "cpu/onednn/detail/tap_grids.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

using namespace troupe;
using namespace troupe::cpu;

namespace {

ConvolutionProblem problem_of(std::int64_t height, std::int64_t width, std::int64_t kernel,
                              std::int64_t stride) {
  const auto padding = kernel / 2;
  const auto out = [&](std::int64_t size) { return (size + 2 * padding - kernel) / stride + 1; };
  return {.batch = 2,
          .height = height,
          .width = width,
          .in = 1,
          .out = 1,
          .out_height = out(height),
          .out_width = out(width),
          .kernel = kernel,
          .stride = stride,
          .padding = padding};
}

/// A pixel of y, a pixel of x, and the weight that connects them.
using Connections = std::set<std::tuple<std::int64_t, std::int64_t, std::size_t>>;

Connections connections_of(const ConvolutionProblem& p) {
  Connections all;
  for (std::int64_t image = 0; image < p.batch; ++image)
    for (std::int64_t oh = 0; oh < p.out_height; ++oh)
      for (std::int64_t ow = 0; ow < p.out_width; ++ow)
        for (std::int64_t tap = 0; tap < p.kernel * p.kernel; ++tap) {
          const auto ih = oh * p.stride + tap / p.kernel - p.padding;
          const auto iw = ow * p.stride + tap % p.kernel - p.padding;
          if (ih >= 0 && ih < p.height && iw >= 0 && iw < p.width)
            all.emplace((image * p.out_height + oh) * p.out_width + ow,
                        (image * p.height + ih) * p.width + iw, static_cast<std::size_t>(tap));
        }
  return all;
}

/// Returns what the grids read and write. Requires that they write each pixel once.
Connections connections_of(const ConvolutionProblem& p, bool forward) {
  const TapGrids grids{p, forward};
  const auto batch = static_cast<std::size_t>(p.batch);
  const auto pixels_read = static_cast<std::size_t>(forward ? p.batch * p.height * p.width
                                                            : p.batch * p.out_height * p.out_width);
  const std::vector<float> read(pixels_read), zeros(1);
  std::vector<int> written(batch * grids.pixels());
  Connections all;
  for (const auto& grid : grids.all()) {
    const std::size_t count = batch * grid.pixels();
    for (std::size_t i = 0; i < count; ++i)
      ++written[grids.written(grid, i)];
    for (const auto& tap : grid.taps) {
      std::vector<const float*> rows(count);
      grids.read(read.data(), grid, tap, 0, count, zeros.data(), rows.data());
      for (std::size_t i = 0; i < count; ++i)
        if (rows[i] != zeros.data()) {
          const auto from = rows[i] - read.data();
          const auto to = static_cast<std::int64_t>(grids.written(grid, i));
          all.emplace(forward ? to : from, forward ? from : to, tap.weight);
        }
    }
  }
  CHECK(std::ranges::all_of(written, [](int times) { return times == 1; }));
  return all;
}

} // namespace

TEST_CASE("the grids of a convolution connect its pixels in both directions") {
  const std::int64_t kernel = GENERATE(1, 3, 5), stride = GENERATE(1, 2, 3);
  const std::int64_t height = GENERATE(1, 6, 7), width = GENERATE(1, 5, 12);
  const bool forward = GENERATE(true, false);
  CAPTURE(kernel, stride, height, width, forward);
  const auto p = problem_of(height, width, kernel, stride);
  CHECK(connections_of(p, forward) == connections_of(p));
}

TEST_CASE("grids divide ranges of rows of the result") {
  const std::int64_t stride = GENERATE(1, 2, 3);
  const TapGrids grids{problem_of(7, 5, 3, stride), false};
  for (const auto& grid : grids.all())
    for (std::size_t row = 0; row <= 2 * 7; ++row) {
      const std::size_t pixel = row * grids.width(), count = grids.before(grid, pixel);
      CAPTURE(stride, row, grid.row, grid.column);
      CHECK((count == 0 || grids.written(grid, count - 1) < pixel));
      CHECK((count == 2 * grid.pixels() || grids.written(grid, count) >= pixel));
    }
}
