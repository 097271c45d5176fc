#include "core/float16.hpp"

#include <catch2/catch_test_macros.hpp>

#include <limits>

using namespace troupe;

namespace {

/// Decodes IEEE 754 binary16, except NaN.
double value_of(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1f, fraction = half & 0x3ff;
  const double sign = half & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31)
    return sign * std::numeric_limits<double>::infinity();
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(1024 + fraction, exponent - 25);
}

bool is_nan(std::uint16_t half) {
  return (half & 0x7fffu) > 0x7c00u;
}

std::uint16_t half(unsigned bits) {
  return static_cast<std::uint16_t>(bits);
}

} // namespace

TEST_CASE("all 65,536 f16 values are converted to f32 and back") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = float_from_f16(half(bits));
    INFO("bits " << bits);
    if (is_nan(half(bits))) {
      REQUIRE(std::isnan(value));
      REQUIRE(is_nan(f16_from_float(value)));
      continue;
    }
    REQUIRE(double{value} == value_of(half(bits)));
    REQUIRE(std::signbit(value) == (bits >= 0x8000));
    REQUIRE(f16_from_float(value) == bits);
  }
}

TEST_CASE("values between two f16 values round to the nearest, ties to even") {
  for (unsigned sign : {0u, 0x8000u})
    for (unsigned bits = 0; bits < 0x7c00; ++bits) {
      const auto low = half(bits | sign), high = half((bits + 1) | sign);
      // The value after the largest half is infinity; rounding treats it as 2^16.
      const double above = bits + 1 == 0x7c00 ? (sign ? -65536.0 : 65536.0) : value_of(high);
      const auto middle = static_cast<float>((value_of(low) + above) / 2);
      INFO("bits " << bits << " sign " << sign);
      REQUIRE(f16_from_float(middle) == (bits % 2 == 0 ? low : high));
      REQUIRE(f16_from_float(std::nextafter(middle, 0.0f)) == low);
      REQUIRE(f16_from_float(std::nextafter(middle, sign ? -1e9f : 1e9f)) == high);
    }
}

TEST_CASE("f16 overflows to infinity and underflows to zero of the same sign") {
  CHECK(f16_from_float(65519.996f) == 0x7bff);
  CHECK(f16_from_float(65520.0f) == 0x7c00);
  CHECK(f16_from_float(-3e38f) == 0xfc00);
  CHECK(f16_from_float(std::numeric_limits<float>::infinity()) == 0x7c00);
  CHECK(f16_from_float(0x1p-25f) == 0); // a tie: to even
  CHECK(f16_from_float(-0x1p-26f) == 0x8000);
  CHECK(f16_from_float(std::numeric_limits<float>::denorm_min()) == 0);
}

TEST_CASE("bf16 rounds to nearest, ties to even") {
  CHECK(bf16_from_float(1.0f) == 0x3f80);
  CHECK(bf16_from_float(1.0f + 0x1p-8f) == 0x3f80);            // a tie: to even
  CHECK(bf16_from_float(1.0f + 0x1p-8f + 0x1p-20f) == 0x3f81); // above a tie
  CHECK(bf16_from_float(1.0f + 0x3p-8f) == 0x3f82);            // a tie: to even
  CHECK(bf16_from_float(3.4e38f) == 0x7f80);                   // overflows to infinity
  CHECK(bf16_from_float(-INFINITY) == 0xff80);
  CHECK(std::isnan(float_from_bf16(bf16_from_float(NAN))));
}
