/// Included only by the kernel sources: conversion of float registers to and from bf16, and
/// registers of bf16 pairs that are multiplied and summed in f32.
#pragma once

#include "cpu/kernels/detail/variant.hpp"
#include "cpu/kernels/detail/vectors.hpp"

#include <type_traits>

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

using Halves [[gnu::vector_size(2 * lanes)]] = std::uint16_t;
using UnalignedHalves [[gnu::vector_size(2 * lanes), gnu::aligned(2), gnu::may_alias]] =
    std::uint16_t;

inline Vector load_vector(const Bf16* values) {
  const auto halves = *reinterpret_cast<const UnalignedHalves*>(values);
  return reinterpret_cast<Vector>(__builtin_convertvector(halves, Words) << 16);
}

/// Rounds to nearest, ties to even; a NaN stays a NaN. The processor's own instruction flushes
/// subnormals to zero.
inline Halves halves_of(Vector vector) {
#if defined(__AVX512BF16__)
  return reinterpret_cast<Halves>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(vector)));
#else
  const auto bits = reinterpret_cast<Words>(vector);
  const Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const Words quiet = (bits >> 16) | 0x40u;
  return __builtin_convertvector((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded, Halves);
#endif
}

inline void store_vector(Bf16* values, Vector vector) {
  *reinterpret_cast<UnalignedHalves*>(values) = halves_of(vector);
}

/// Loads and stores values of every type; for f16, the compiler vectorizes a loop.
template <class T>
Vector load_lanes(const T* values) {
  if constexpr (std::is_same_v<T, F16>) {
    float widened[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane)
      widened[lane] = load(values, lane);
    return load_vector(widened);
  } else {
    return load_vector(values);
  }
}
template <class T>
void store_lanes(T* values, Vector vector) {
  if constexpr (std::is_same_v<T, F16>)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      store(values, lane, vector[lane]);
  else
    store_vector(values, vector);
}

/// Two neighbours, the first in the lower half.
struct Pair {
  std::uint32_t bits;
};

inline Words load_vector(const Pair* pairs) {
  return *reinterpret_cast<const UnalignedWords*>(pairs);
}

/// Returns each lane's two floats as a pair.
inline Words pairs_of(Vector low, Vector high) {
  return __builtin_convertvector(halves_of(low), Words) |
         __builtin_convertvector(halves_of(high), Words) << 16;
}

inline void store_vector(Pair* pairs, Words words) {
  *reinterpret_cast<UnalignedWords*>(pairs) = words;
}

inline void store_pairs(Pair* pairs, Vector low, Vector high) {
  store_vector(pairs, pairs_of(low, high));
}

/// Adds to each lane the two products of pair `a` with the lane's pair.
inline Vector add_product(Vector sum, Pair a, Words b) {
  const Words left = a.bits - Words{};
#if defined(__AVX512BF16__)
  return reinterpret_cast<Vector>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                   reinterpret_cast<__m512bh>(left),
                                                   reinterpret_cast<__m512bh>(b)));
#else
  const auto low = [](Words pairs) { return reinterpret_cast<Vector>(pairs << 16); };
  const auto high = [](Words pairs) { return reinterpret_cast<Vector>(pairs & 0xffff0000u); };
  return sum + low(left) * low(b) + high(left) * high(b);
#endif
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
