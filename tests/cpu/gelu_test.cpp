// Compares the gelu kernels of every instruction set with the formulas in f64.
#include "cpu/kernels/kernels.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

using namespace troupe;

namespace {

struct Gelu {
  double value, slope;
};

Gelu exact(double x) {
  const double p = std::erfc(-x / std::numbers::sqrt2) / 2;
  return {x * p, p + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi)};
}

Gelu by_tanh(double x) {
  const double factor = std::sqrt(2 / std::numbers::pi);
  const double t = std::tanh(factor * (x + 0.044715 * x * x * x));
  // In its left tail 1 + tanh(u) cancels; 2 / (1 + e^(-2 * u)) does not.
  const double p = 1 / (1 + std::exp(-2 * factor * (x + 0.044715 * x * x * x)));
  return {x * p, p + x * (1 - t * t) / 2 * factor * (1 + 3 * 0.044715 * x * x)};
}

std::vector<float> from_minus_to(float end) {
  std::vector<float> xs;
  for (float x = -end; x <= end; x += 1.0f / 64)
    xs.push_back(x);
  return xs;
}

struct Got {
  std::vector<float> y, dx;
};

Got run(const cpu::Kernels& kernels, const std::vector<float>& x, bool tanh) {
  Got got{std::vector<float>(x.size()), std::vector<float>(x.size())};
  const std::vector<float> ones(x.size(), 1.0f);
  kernels.f32.gelu(x.data(), got.y.data(), x.size(), tanh);
  kernels.f32.gelu_backward(ones.data(), x.data(), got.dx.data(), x.size(), tanh);
  return got;
}

} // namespace

TEST_CASE("gelu matches its formula, including both tails") {
  const auto x = from_minus_to(13);
  for (const auto& kernels : cpu::usable_kernels())
    for (const bool tanh : {false, true}) {
      INFO(kernels.name << (tanh ? ", by tanh" : ""));
      const auto got = run(kernels, x, tanh);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto expected = (tanh ? by_tanh : exact)(double{x[i]});
        INFO(x[i] << ": " << got.y[i] << " and " << got.dx[i] << ", expected " << expected.value
                  << " and " << expected.slope);
        // The exponent of a power far from 0 has few bits after the point.
        REQUIRE(std::abs(double{got.y[i]} - expected.value) <=
                2e-5 * std::abs(expected.value) + 1e-36);
        // x * p(x) * (1 - p(x)): the difference 1 - p(x) keeps the whole rounding error of 1.
        REQUIRE(std::abs(double{got.dx[i]} - expected.slope) <= 3e-6);
      }
    }
}

TEST_CASE("gelu of zero, tiny, huge and non-finite values") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const auto& kernels : cpu::usable_kernels())
    for (const bool tanh : {false, true}) {
      INFO(kernels.name << (tanh ? ", by tanh" : ""));
      const auto got = run(kernels, {0, 1e-38f, 1e30f, -1e30f, infinity, std::nanf("")}, tanh);
      const std::vector<float> numbers{got.y.begin(), got.y.begin() + 5};
      CHECK(numbers == std::vector<float>{0, 0.5e-38f, 1e30f, 0, infinity});
      const std::vector<float> slopes{got.dx.begin(), got.dx.begin() + 4};
      CHECK(slopes == std::vector<float>{0.5f, 0.5f, 1, 0});
      CHECK(std::isnan(got.y[5]));
      CHECK(std::isnan(got.dx[5]));
    }
}
