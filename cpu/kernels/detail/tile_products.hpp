/// Included only by the kernel sources for processors with AMX: products of matrices of bf16 pairs
/// that fit into a core's caches, in the layout of small_products.hpp. A tile is 16 rows of a
/// group.
#pragma once

#include "cpu/kernels/detail/small_products.hpp"

#include <cstdint>
#include <immintrin.h>

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

/// Rows and columns of all matrices are multiples of this; steps, in pairs, are multiples of a
/// group.
constexpr std::size_t tile_block = 32;

/// In the format that the processor reads (Intel's manual, "TILECFG"): eight tiles of 16 rows of 64
/// bytes.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileShapes tile_shapes;

/// Configures tiles of these shapes for the calling thread during its lifetime.
class Tiles {
public:
  Tiles() { _tile_loadconfig(&tile_shapes); }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

/// c = a * b, or c += a * b, for 32 rows and two groups of columns.
template <bool add>
void multiply_block(const Product<Pair>& p, std::size_t steps) {
  constexpr long row = group * sizeof(float);
  constexpr std::size_t tile = group * group;
  float* const c = p.c + p.c_group;
  if constexpr (add) {
    _tile_loadd(0, p.c, row);
    _tile_loadd(1, c, row);
    _tile_loadd(2, p.c + tile, row);
    _tile_loadd(3, c + tile, row);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (std::size_t g = 0; g < steps / group; ++g) {
    const Pair* const a = p.a + g * p.a_group;
    const Pair* const b = p.b + g * tile;
    _tile_loadd(4, a, row);
    _tile_loadd(6, b, row);
    _tile_loadd(7, b + p.b_group, row);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + tile, row);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, p.c, row);
  _tile_stored(1, c, row);
  _tile_stored(2, p.c + tile, row);
  _tile_stored(3, c + tile, row);
}

/// c = a * b, or c += a * b: (rows, steps) by (steps, columns). Precondition: a Tiles exists.
template <bool add = false>
void multiply_by_tiles(const Product<Pair>& p, std::size_t rows, std::size_t steps,
                       std::size_t columns) {
  // The compiler does not know that tile loads read memory.
  asm volatile("" ::: "memory");
  for (std::size_t column = 0; column < columns; column += tile_block)
    for (std::size_t row = 0; row < rows; row += tile_block)
      multiply_block<add>({p.a + row * group, p.a_group, p.b + column / group * p.b_group,
                           p.b_group, p.c + column / group * p.c_group + row * group, p.c_group},
                          steps);
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
