/// Included by the kernel sources alone: one register of floats of the variant's instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

#if defined(__AVX512F__)
constexpr std::size_t lanes = 16;
#elif defined(__AVX2__)
constexpr std::size_t lanes = 8;
#else
constexpr std::size_t lanes = 4;
#endif

using Vector [[gnu::vector_size(4 * lanes)]] = float;
/// As many bits.
using Words [[gnu::vector_size(4 * lanes)]] = std::uint32_t;
using UnalignedVector [[gnu::vector_size(4 * lanes), gnu::aligned(4), gnu::may_alias]] = float;

inline Vector load_vector(const float* values) {
  return *reinterpret_cast<const UnalignedVector*>(values);
}

inline void store_vector(float* values, Vector vector) {
  *reinterpret_cast<UnalignedVector*>(values) = vector;
}

inline float sum_of(Vector vector) {
  float sum = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    sum += vector[lane];
  return sum;
}

inline Vector add_product(Vector sum, float a, Vector b) {
  return sum + a * b;
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
