// Compares the layer norm kernels of every instruction set with the formulas in f64.
#include "core/random.hpp"
#include "cpu/kernels/kernels.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace troupe;

namespace {

constexpr std::size_t row_count = 5;
constexpr float eps = 1e-5f;

std::vector<float> offset_values(std::uint64_t stream, std::size_t count, float offset) {
  CounterRng rng{7, stream};
  std::vector<float> values(count);
  for (auto& value : values)
    value = offset + 2 * rng.uniform() - 1;
  return values;
}

struct LayerNorm {
  std::size_t width;
  float offset; ///< added to x
  std::vector<float> x = offset_values(0, row_count*width, offset),
                     dy = offset_values(1, row_count*width, 0), scale = offset_values(2, width, 1),
                     shift = offset_values(3, width, 0);
};

using Values = std::vector<double>;
struct LayerNormResults {
  Values y, dx, dscale, dshift;
};

LayerNormResults formulas(const LayerNorm& p) {
  const std::size_t w = p.width;
  const auto n = static_cast<double>(w);
  LayerNormResults r{Values(p.x.size()), Values(p.x.size()), Values(w), Values(w)};
  for (std::size_t row = 0; row < row_count; ++row) {
    const std::size_t at = row * w;
    double mean = 0, variance = 0, sum = 0, sum_h = 0;
    for (std::size_t c = 0; c < w; ++c)
      mean += double{p.x[at + c]} / n;
    for (std::size_t c = 0; c < w; ++c)
      variance += (double{p.x[at + c]} - mean) * (double{p.x[at + c]} - mean) / n;
    const double inv_std = 1 / std::sqrt(variance + double{eps});
    const auto h = [&](std::size_t c) { return (double{p.x[at + c]} - mean) * inv_std; };
    const auto g = [&](std::size_t c) { return double{p.dy[at + c]} * double{p.scale[c]}; };
    for (std::size_t c = 0; c < w; ++c) {
      r.y[at + c] = h(c) * double{p.scale[c]} + double{p.shift[c]};
      r.dscale[c] += double{p.dy[at + c]} * h(c);
      r.dshift[c] += double{p.dy[at + c]};
      sum += g(c) / n;
      sum_h += g(c) * h(c) / n;
    }
    for (std::size_t c = 0; c < w; ++c)
      r.dx[at + c] = inv_std * (g(c) - sum - h(c) * sum_h);
  }
  return r;
}

Values wide(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

LayerNormResults run(const cpu::Kernels& kernels, const LayerNorm& p) {
  std::vector<float> y(p.x.size()), dx(p.x.size()), mean(row_count), inv_std(row_count),
      dscale(p.width), dshift(p.width);
  kernels.f32.layer_norm({p.x.data(), y.data(), row_count, p.width, p.scale.data(), p.shift.data(),
                          eps, mean.data(), inv_std.data()});
  kernels.f32.layer_norm_backward({p.dy.data(), p.x.data(), dx.data(), row_count, p.width,
                                   p.scale.data(), mean.data(), inv_std.data(), dscale.data(),
                                   dshift.data()});
  return {wide(y), wide(dx), wide(dscale), wide(dshift)};
}

/// Returns the largest difference, divided by the largest value or by 1.
double layer_norm_error(const Values& got, const Values& expected) {
  double most = 1, difference = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    most = std::max(most, std::abs(expected[i]));
    difference = std::max(difference, std::abs(got[i] - expected[i]));
  }
  return difference / most;
}

} // namespace

TEST_CASE("layer norm matches its formula for any width") {
  for (const auto& kernels : cpu::usable_kernels())
    for (const std::size_t width : {3, 16, 17, 100, 768}) {
      INFO(kernels.name << ", " << width << " columns");
      const LayerNorm problem{width, 0};
      const auto got = run(kernels, problem), expected = formulas(problem);
      CHECK(layer_norm_error(got.y, expected.y) < 2e-6);
      CHECK(layer_norm_error(got.dx, expected.dx) < 2e-6);
      CHECK(layer_norm_error(got.dscale, expected.dscale) < 2e-6);
      CHECK(layer_norm_error(got.dshift, expected.dshift) < 2e-6);
    }
}

TEST_CASE("layer norm of single columns returns the shift") {
  const LayerNorm problem{1, 0};
  for (const auto& kernels : cpu::usable_kernels()) {
    INFO(kernels.name);
    const auto got = run(kernels, problem);
    CHECK(got.y == Values(row_count, double{problem.shift[0]}));
    CHECK(got.dscale[0] == 0);
    // One rounding of dy, times 1 / sqrt(eps).
    CHECK(layer_norm_error(got.dx, Values(row_count)) < 1e-4);
  }
}

// The difference of a mean of squares and the square of the mean would have no correct digit.
TEST_CASE("layer norm of values far from zero") {
  for (const auto& kernels : cpu::usable_kernels()) {
    INFO(kernels.name);
    const LayerNorm problem{768, 4096};
    const auto got = run(kernels, problem), expected = formulas(problem);
    CHECK(layer_norm_error(got.y, expected.y) < 1e-3);
    CHECK(layer_norm_error(got.dx, expected.dx) < 1e-3);
  }
}
