// Tests the bf16 Winograd kernels of every instruction set on exactly representable numbers: small
// integers, and weights that are multiples of four. The result is the sum, rounded once.
#include "core/random.hpp"
#include "tests/cpu/winograd_problem.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace troupe;
using namespace troupe::cpu::test;
using cpu::Bf16;

namespace {

/// Returns multiples of `step`, up to three times `step`.
std::vector<float> integers(std::uint64_t stream, std::size_t count, float step) {
  CounterRng rng{7, stream};
  std::vector<float> values(count);
  for (auto& value : values)
    value = step * std::floor(7 * rng.uniform() - 3);
  return values;
}

std::vector<Bf16> narrow(const cpu::Kernels& kernels, const std::vector<float>& values) {
  std::vector<Bf16> narrowed(values.size());
  kernels.bf16.narrow(values.data(), narrowed.data(), values.size());
  return narrowed;
}

std::vector<float> widen(const cpu::Kernels& kernels, const std::vector<Bf16>& values) {
  std::vector<float> wide(values.size());
  kernels.bf16.widen(values.data(), wide.data(), values.size());
  return wide;
}

/// Runs the second half of the tiles first and transforms the weights in two parts.
void convolve(const cpu::Kernels& kernels, const WinogradProblem& p, const std::vector<Bf16>& x,
              const std::vector<float>& weights, const cpu::WinogradOutput& output) {
  const auto& s = p.shape;
  const std::size_t tiles = p.images * ((s.height + 1) / 2) * ((s.width + 1) / 2);
  std::vector<Bf16> u(cpu::winograd_bf16_points * s.in * s.out);
  kernels.winograd_bf16_weights(s, weights.data(), u.data(), 0, 16);
  kernels.winograd_bf16_weights(s, weights.data(), u.data(), 16, s.in);
  std::vector<float> scratch(kernels.winograd_bf16_scratch(s) / sizeof(float) + 1);
  for (const auto& [begin, end] :
       {std::pair{tiles / 2, tiles}, std::pair{std::size_t{0}, tiles / 2}})
    kernels.winograd_bf16_convolve(s, x.data(), u.data(), output,
                                   reinterpret_cast<std::byte*>(scratch.data()), begin, end);
}

struct Added {
  bool bias, residual, relu;
};

/// Returns the expected results of the kernels.
std::vector<float> reference(const cpu::Kernels& kernels, std::vector<double> sums,
                             const std::vector<float>& bias, const std::vector<float>& residual,
                             const Added& added) {
  std::vector<float> values(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double value = sums[i] + (added.bias ? double{bias[i % bias.size()]} : 0) +
                   (added.residual ? double{residual[i]} : 0);
    values[i] = static_cast<float>(added.relu ? std::max(value, 0.0) : value);
  }
  kernels.bf16.round(values.data(), values.size());
  return values;
}

// Images with and without inner tiles, tiles cut on both sides, one pixel; one and several chunks
// of output channels, the last one cut; blocks that end within an image and with few tiles.
const std::vector<WinogradProblem> bf16_problems{{1, {1, 1, 32, 16}},   {3, {2, 2, 32, 16}},
                                                 {2, {3, 9, 32, 48}},   {2, {13, 18, 64, 64}},
                                                 {1, {16, 16, 32, 80}}, {2, {7, 7, 96, 144}}};

} // namespace

TEST_CASE("Winograd's convolution in bf16 equals the sum of products plus the fused terms, rounded "
          "once") {
  for (const auto& kernels : cpu::usable_kernels())
    for (const auto& p : bf16_problems)
      for (const auto& added : {Added{false, false, false}, Added{true, false, true},
                                Added{true, true, false}, Added{true, true, true}}) {
        CAPTURE(kernels.name, p.shape.height, p.shape.width, p.shape.in, p.shape.out, added.bias,
                added.residual, added.relu);
        const auto x = integers(1, p.pixels() * p.shape.in, 1);
        const auto weights = integers(2, p.weights(), 4);
        const auto bias = integers(3, p.shape.out, 1);
        const auto residual = integers(4, p.pixels() * p.shape.out, 1);
        // The output replaces the residual in place.
        auto y = narrow(kernels, residual);
        convolve(kernels, p, narrow(kernels, x), weights,
                 {y.data(), added.bias ? bias.data() : nullptr, added.residual ? y.data() : nullptr,
                  added.relu});
        CHECK(widen(kernels, y) ==
              reference(kernels, convolve(p, x, weights, false), bias, residual, added));
      }
}

TEST_CASE("a NaN reaches the bf16 outputs of its tiles, also through a relu") {
  const WinogradProblem p{1, {8, 8, 32, 16}};
  for (const auto& kernels : cpu::usable_kernels()) {
    INFO(kernels.name);
    auto x = integers(5, p.pixels() * p.shape.in, 1);
    x[(1 * 8 + 1) * 32 + 3] = NAN;
    std::vector<Bf16> y(p.pixels() * p.shape.out);
    convolve(kernels, p, narrow(kernels, x), integers(6, p.weights(), 4),
             {y.data(), nullptr, nullptr, true});
    const auto found = widen(kernels, y);
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < 3; ++column)
        CHECK(std::isnan(found[(row * 8 + column) * 16]));
    CHECK_FALSE(std::isnan(found[(7 * 8 + 7) * 16]));
  }
}
