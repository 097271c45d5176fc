/// Included only by the kernel sources: e^x of a float, in a form that the compiler vectorizes, and
/// of a register.
#pragma once

#include "cpu/kernels/detail/vectors.hpp"

#include <cstdint>

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

/// A NaN stays a NaN. The second selection follows the first: the compiler turns nested ones into a
/// branch.
template <class V>
V clamp(V value, float least, float most) {
  value = value < least ? V{} + least : value;
  return value > most ? V{} + most : value;
}

/// Evaluates a polynomial of x; coefficients go from the highest power to the constant.
template <class V, class... Floats>
V polynomial(V x, float first, Floats... coefficients) {
  V sum = V{} + first;
  ((sum = sum * x + coefficients), ...);
  return sum;
}

template <class Bits, class V>
V exponential_by(V x) {
  x = clamp(x, -88.0f, 89.0f);
  // The addition rounds to n = x / log 2, and leaves it in the last bits of a float of 1.5 * 2^23.
  constexpr float integers = 0x1.8p23f;
  const V sum = x * 1.44269504f + integers, n = sum - integers;
  const V r = (x - n * 0.693359375f) + n * 2.12194440e-4f; // x - n * log 2, in two parts
  const V series =
      polynomial(r, 1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f);
  const Bits exponent = (__builtin_bit_cast(Bits, sum) + 127) << 23;
  return series * __builtin_bit_cast(V, exponent);
}

/// Returns e^x: 0 for x <= -88, infinity for x >= 88.4.
inline float exponential(float x) {
  return exponential_by<std::uint32_t>(x);
}
inline Vector exponential(Vector x) {
  return exponential_by<Words>(x);
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
