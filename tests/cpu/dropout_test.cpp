// Compares the dropout kernels of every instruction set with Philox, block by block.
#include "core/device/dropout_math.hpp"
#include "cpu/kernels/kernels.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <vector>

using namespace troupe;

namespace {

constexpr std::uint64_t key = 0x299f31d0a4093822;

std::vector<float> run(const cpu::Kernels& kernels, const DropoutRule& rule, std::size_t first,
                       std::size_t elements) {
  const auto counter = dropout_counter(rule, 0);
  const cpu::DropoutMask mask{.key = key,
                              .counter = {counter[0], counter[1], counter[2], counter[3]},
                              .bound = rule.bound,
                              .scale = rule.scale,
                              .first = first};
  const std::vector<float> ones(elements, 1.0f);
  std::vector<float> y(elements);
  kernels.f32.dropout(mask, ones.data(), y.data(), elements);
  return y;
}

} // namespace

TEST_CASE("dropout drops exactly the elements that Philox selects, from any offset") {
  const auto rule = dropout_rule({.rate = 0.3f, .place = 5});
  for (const auto& kernels : cpu::usable_kernels())
    for (const std::size_t first : {0u, 1u, 6u, 259u})
      for (const std::size_t elements : {1u, 7u, 256u, 1000u}) {
        INFO(kernels.name << ", " << elements << " from " << first);
        const auto y = run(kernels, rule, first, elements);
        for (std::size_t i = 0; i < elements; ++i)
          REQUIRE(y[i] == dropped(1.0f, dropout_word(rule, key, first + i), rule));
      }
}

TEST_CASE("dropout keeps the mean and drops the configured share") {
  constexpr std::size_t elements = 1 << 20;
  constexpr double rate = 0.1, deviations = 5;
  const auto y = run(cpu::kernels(), dropout_rule({.rate = 0.1f}), 0, elements);
  double zeros = 0;
  for (const float value : y)
    zeros += value == 0 ? 1 : 0;
  const double expected = rate * elements;
  CHECK(std::abs(zeros - expected) < deviations * std::sqrt(expected * (1 - rate)));
}

TEST_CASE("each dropout in a model has its own mask") {
  CHECK(run(cpu::kernels(), dropout_rule({.rate = 0.5f, .place = 0}), 0, 64) !=
        run(cpu::kernels(), dropout_rule({.rate = 0.5f, .place = 1}), 0, 64));
}
