/// Included only by the kernel sources: transposition of squares of registers.
#pragma once

#include "cpu/kernels/detail/vectors.hpp"

#include <utility>

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

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
