/// Included only by the kernel sources: one register of floats of the variant's instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

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
/// A register of as many bits.
using Words [[gnu::vector_size(4 * lanes)]] = std::uint32_t;
using UnalignedVector [[gnu::vector_size(4 * lanes), gnu::aligned(4), gnu::may_alias]] = float;

inline Vector load_vector(const float* values) {
  return *reinterpret_cast<const UnalignedVector*>(values);
}

inline void store_vector(float* values, Vector vector) {
  *reinterpret_cast<UnalignedVector*>(values) = vector;
}

template <std::size_t by, std::size_t... lane>
Vector rotated(Vector vector, std::index_sequence<lane...>) {
  return __builtin_shufflevector(vector, vector, ((lane + by) % lanes)...);
}

/// Folds all lanes with join(register, register), halves first: a dependency chain of four steps
/// for sixteen lanes, not of sixteen.
template <std::size_t half = lanes / 2, class Join>
float folded(Vector vector, Join join) {
  vector = join(vector, rotated<half>(vector, std::make_index_sequence<lanes>()));
  if constexpr (half > 1)
    return folded<half / 2>(vector, join);
  else
    return vector[0];
}

constexpr auto sum_of = [](Vector a, Vector b) { return a + b; };
constexpr auto larger_of = [](Vector a, Vector b) { return b > a ? b : a; };

inline Vector add_product(Vector sum, float a, Vector b) {
  return sum + a * b;
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
