// Compares the Winograd kernels of every instruction set with the sums that define a convolution,
// in f64.
#include "cpu/kernels/kernels.hpp"
#include "tests/cpu/uniform_values.hpp"
#include "tests/cpu/winograd_problem.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace troupe;
using namespace troupe::cpu::test;

namespace {

/// The largest error, divided by the root mean square of the sums; typical errors are several times
/// smaller, under 1e-6.
constexpr double tolerance = 1e-5;

struct Problem : WinogradProblem {
  std::size_t tiles() const { return images * ((shape.height + 3) / 4) * ((shape.width + 3) / 4); }
  std::size_t points() const { return cpu::winograd_points * shape.in * shape.out; }
  std::size_t scratch() const {
    const std::size_t channels = shape.in + shape.out;
    return channels + cpu::winograd_points * (cpu::winograd_block * channels + 32);
  }
};

std::vector<double> weight_gradient(const Problem& p, const std::vector<float>& x,
                                    const std::vector<float>& dy) {
  const auto& s = p.shape;
  std::vector<double> gradient(p.weights());
  for_products(p, [&](std::size_t to, std::size_t from, std::size_t at) {
    for (std::size_t in = 0; in < s.in; ++in)
      for (std::size_t out = 0; out < s.out; ++out)
        gradient[(at * s.in + in) * s.out + out] +=
            double{x[from * s.in + in]} * double{dy[to * s.out + out]};
  });
  return gradient;
}

double largest_error(const std::vector<float>& found, const std::vector<double>& reference) {
  double squares = 0, largest = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    squares += reference[i] * reference[i];
    largest = std::max(largest, std::abs(double{found[i]} - reference[i]));
  }
  return largest / std::sqrt(squares / static_cast<double>(reference.size()));
}

// Images with and without inner tiles, cut tiles on both sides, less than one tile; one and several
// groups of channels, in and out; blocks that end within an image and with too few tiles.
const std::vector<Problem> problems{
    {{1, {1, 1, 16, 16}}},   {{3, {4, 4, 16, 32}}}, {{2, {3, 9, 32, 16}}}, {{2, {13, 18, 16, 16}}},
    {{1, {32, 32, 16, 48}}}, {{5, {8, 8, 64, 64}}}, {{2, {7, 7, 48, 80}}}};

} // namespace

TEST_CASE("Winograd's convolution equals the sum of products, also with transposed weights") {
  for (const auto& kernels : cpu::usable_kernels())
    for (const auto& p : problems)
      for (const bool turned : {false, true}) {
        CAPTURE(kernels.name, p.shape.height, p.shape.width, p.shape.in, p.shape.out, turned);
        const auto x = uniform_values(1, p.pixels() * p.shape.in);
        const auto weights = uniform_values(2, p.weights());
        std::vector<float> u(p.points()), y(p.pixels() * p.shape.out, NAN), scratch(p.scratch());
        kernels.winograd_weights(p.shape, weights.data(), turned, u.data(), 0, 16);
        kernels.winograd_weights(p.shape, weights.data(), turned, u.data(), 16, p.shape.in);
        const std::size_t half = p.tiles() / 2;
        for (const auto& [begin, end] :
             {std::pair{half, p.tiles()}, std::pair{std::size_t{0}, half}})
          kernels.winograd_convolve(p.shape, x.data(), u.data(), y.data(), scratch.data(), begin,
                                    end);
        CHECK(largest_error(y, convolve(p, x, weights, turned)) < tolerance);
      }
}

TEST_CASE("Winograd's weight gradient equals the sum of products, and accumulates") {
  for (const auto& kernels : cpu::usable_kernels())
    for (const auto& p : problems) {
      CAPTURE(kernels.name, p.shape.height, p.shape.width, p.shape.in, p.shape.out);
      const auto x = uniform_values(3, p.pixels() * p.shape.in);
      const auto dy = uniform_values(4, p.pixels() * p.shape.out);
      std::vector<float> sums(p.points()), gradient(p.weights(), NAN), scratch(p.scratch());
      const std::size_t half = p.tiles() / 2;
      for (const auto& [begin, end] : {std::pair{half, p.tiles()}, std::pair{std::size_t{0}, half}})
        kernels.winograd_gradient(p.shape, x.data(), dy.data(), sums.data(), scratch.data(), begin,
                                  end);
      kernels.winograd_weight_gradient(p.shape, sums.data(), gradient.data(), 0, p.shape.in);
      CHECK(largest_error(gradient, weight_gradient(p, x, dy)) < tolerance);
    }
}

TEST_CASE("a NaN reaches the outputs of its tiles") {
  const Problem p{{1, {8, 8, 16, 16}}};
  for (const auto& kernels : cpu::usable_kernels()) {
    INFO(kernels.name);
    auto x = uniform_values(5, p.pixels() * p.shape.in);
    x[(1 * 8 + 1) * 16 + 3] = NAN;
    const auto weights = uniform_values(6, p.weights());
    std::vector<float> u(p.points()), y(p.pixels() * p.shape.out), scratch(p.scratch());
    kernels.winograd_weights(p.shape, weights.data(), false, u.data(), 0, 16);
    kernels.winograd_convolve(p.shape, x.data(), u.data(), y.data(), scratch.data(), 0, p.tiles());
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < 3; ++column)
        CHECK(std::isnan(y[(row * 8 + column) * 16]));
    CHECK_FALSE(std::isnan(y[(7 * 8 + 7) * 16]));
  }
}
