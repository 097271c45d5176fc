// Compares conversions of the host's kernels with the definitions of core/float16.hpp, bit by bit.
#include "core/float16.hpp"
#include "cpu/kernels/kernels.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace troupe;

namespace {

/// Returns all 65,536 values of a type, the midpoints between neighbours, and the f32 values next
/// to these.
template <class Widen>
std::vector<float> telling_values(Widen widen) {
  std::vector<float> values;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = widen(static_cast<std::uint16_t>(bits));
    const float middle = value + (widen(static_cast<std::uint16_t>(bits + 1)) - value) / 2;
    for (const float one :
         {value, middle, std::nextafter(middle, -INFINITY), std::nextafter(middle, INFINITY)})
      values.push_back(one);
  }
  for (const float limit : {65519.996f, 65520.0f, 3e38f, 0x1p-25f, 0x1.8p-25f, 1e-45f})
    values.insert(values.end(), {limit, -limit});
  return values;
}

bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

template <class T, class Widen, class Narrow>
void check(const cpu::TypedKernels<T>& kernels, Widen widen, Narrow narrow) {
  const auto values = telling_values(widen);
  std::vector<T> stored(values.size());
  std::vector<float> loaded(values.size());
  kernels.narrow(values.data(), stored.data(), values.size());
  kernels.widen(stored.data(), loaded.data(), values.size());
  auto rounded = values;
  kernels.round(rounded.data(), rounded.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO(values[i]);
    REQUIRE(same(loaded[i], widen(narrow(values[i]))));
    REQUIRE(same(rounded[i], loaded[i]));
    if (!std::isnan(values[i]))
      REQUIRE(stored[i].bits == narrow(values[i]));
  }
}

} // namespace

TEST_CASE("kernels store and load f16 and bf16 as defined") {
  for (const auto& kernels : cpu::usable_kernels()) {
    INFO(kernels.name);
    check(kernels.f16, float_from_f16, f16_from_float);
    check(kernels.bf16, float_from_bf16, bf16_from_float);
  }
}
