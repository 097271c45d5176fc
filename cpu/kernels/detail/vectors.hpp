/// Included only by the kernel sources: one register of floats of the variant's instruction set,
/// and squares of registers.
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

using UnalignedWords [[gnu::vector_size(4 * lanes), gnu::aligned(4), gnu::may_alias]] =
    std::uint32_t;

inline Words load_words(const std::int32_t* values) {
  return *reinterpret_cast<const UnalignedWords*>(values);
}

inline void store_words(std::int32_t* values, Words words) {
  *reinterpret_cast<UnalignedWords*>(values) = words;
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

/// Swaps the off-diagonal quarters of each square of 2 * `side`.
template <std::size_t side, class V, std::size_t... lane>
void exchange(V (&square)[lanes], std::index_sequence<lane...>) {
  for (std::size_t i = 0; i < lanes; ++i)
    if ((i & side) == 0) {
      const V above = square[i], below = square[i + side];
      square[i] =
          __builtin_shufflevector(above, below, (lane & side ? lanes + lane - side : lane)...);
      square[i + side] =
          __builtin_shufflevector(above, below, (lane & side ? lanes + lane : lane + side)...);
    }
}

/// Transposes elements as large as a float.
template <class V, std::size_t side = lanes / 2>
void transpose(V (&square)[lanes]) {
  exchange<side>(square, std::make_index_sequence<lanes>());
  if constexpr (side > 1)
    transpose<V, side / 2>(square);
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
