/// Included only by the kernel sources for processors with AMX: packing of bf16 matrices for
/// products by tiles (tile_products.hpp), 16 or 32 rows and columns at a time. Pads with zeros
/// after the last row and column.
#pragma once

#include "cpu/kernels/detail/matrix_rows.hpp"

#include <immintrin.h>

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

using BfRows = MatrixRows<const Bf16>;

constexpr std::size_t two_groups = 2 * group;

/// Returns a mask with a low bit set for each element from c on, up to the bits of `Mask`.
template <class Mask>
Mask there(std::size_t c, std::size_t columns) {
  constexpr std::size_t most = 8 * sizeof(Mask);
  const std::size_t left = c < columns ? columns - c : 0;
  return static_cast<Mask>(left < most ? (std::uint64_t{1} << left) - 1 : ~std::uint64_t{0});
}

/// Loads a group of a row of `columns`.
inline Vector load_some(const float* row, std::size_t c, std::size_t columns) {
  return reinterpret_cast<Vector>(_mm512_maskz_loadu_ps(there<__mmask16>(c, columns), row + c));
}
inline void store_some(float* row, std::size_t c, std::size_t columns, Vector values) {
  _mm512_mask_storeu_ps(row + c, there<__mmask16>(c, columns), reinterpret_cast<__m512>(values));
}
inline void store_some(Bf16* row, std::size_t c, std::size_t columns, Vector values) {
  _mm256_mask_storeu_epi16(row + c, there<__mmask16>(c, columns),
                           reinterpret_cast<__m256i>(halves_of(values)));
}

/// Returns two groups of a row, from column c on, as pairs of neighbours.
inline Words row_pairs(const BfRows& from, std::size_t row, std::size_t c) {
  if (row >= from.count)
    return Words{};
  return reinterpret_cast<Words>(_mm512_maskz_loadu_epi16(there<__mmask32>(c, from.columns),
                                                          from.first + row * from.distance + c));
}

/// Turns pairs of columns of two rows into pairs of these rows: of the even columns, and of the odd
/// ones.
struct PairedRows {
  Words even, odd;

  PairedRows(const BfRows& from, std::size_t row, std::size_t c) {
    const Words low = row_pairs(from, row, c), high = row_pairs(from, row + 1, c);
    even = (low & 0xffffu) | high << 16;
    odd = low >> 16 | (high & 0xffff0000u);
  }
};

/// A word for each lane of sixteen registers.
using Square = Words[lanes];

/// Packs pairs of neighbouring columns: (columns / 32, rows, 16).
inline void pack_rows(const BfRows& from, std::size_t rows, std::size_t pairs, Pair* to) {
  for (std::size_t c = 0; c < 2 * pairs; c += two_groups)
    for (std::size_t row = 0; row < rows; ++row, to += group)
      store_vector(to, row_pairs(from, row, c));
}

/// Packs 16 rows and 32 columns as the transpose: (columns / 2, 16) pairs of columns.
inline void pack_turned_square(const BfRows& from, std::size_t row, std::size_t c, Pair* to) {
  Square words;
  for (std::size_t i = 0; i < group; ++i)
    words[i] = row_pairs(from, row + i, c);
  transpose(words);
  for (std::size_t i = 0; i < group; ++i)
    store_vector(to + i * group, words[i]);
}

/// Packs pairs of neighbouring columns, transposed: (rows / 16, pairs, 16).
inline void pack_turned(const BfRows& from, std::size_t rows, std::size_t pairs, Pair* to) {
  for (std::size_t row = 0; row < rows; row += group)
    for (std::size_t c = 0; c < pairs; c += group, to += group * group)
      pack_turned_square(from, row, 2 * c, to);
}

/// Packs two rows and 32 columns as pairs of these rows; the second 16 go to `to + distance`.
inline void pack_paired_rows(const BfRows& from, std::size_t row, std::size_t c, Pair* to,
                             std::size_t distance) {
  const PairedRows rows{from, row, c};
  store_vector(to, __builtin_shufflevector(rows.even, rows.odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                           5, 21, 6, 22, 7, 23));
  store_vector(to + distance, __builtin_shufflevector(rows.even, rows.odd, 8, 24, 9, 25, 10, 26, 11,
                                                      27, 12, 28, 13, 29, 14, 30, 15, 31));
}

/// Packs pairs of neighbouring rows: (columns / 16, rows / 2, 16).
inline void pack_paired(const BfRows& from, std::size_t rows, std::size_t columns, Pair* to) {
  const std::size_t distance = rows / 2 * group;
  for (std::size_t c = 0; c < columns; c += two_groups, to += 2 * distance)
    for (std::size_t row = 0; row < rows; row += 2)
      pack_paired_rows(from, row, c, to + row / 2 * group, distance);
}

/// Packs 32 rows as the transpose: (columns, 16) pairs of rows.
inline void pack_paired_turned_rows(const BfRows& from, std::size_t row, std::size_t columns,
                                    Pair* to) {
  for (std::size_t c = 0; c < columns; c += two_groups, to += two_groups * group) {
    Square even, odd;
    for (std::size_t i = 0; i < group; ++i) {
      const PairedRows two{from, row + 2 * i, c};
      even[i] = two.even;
      odd[i] = two.odd;
    }
    transpose(even);
    transpose(odd);
    for (std::size_t i = 0; i < group; ++i) {
      store_vector(to + 2 * i * group, even[i]);
      store_vector(to + (2 * i + 1) * group, odd[i]);
    }
  }
}

/// Packs pairs of neighbouring rows, transposed: (rows / 32, columns, 16).
inline void pack_paired_turned(const BfRows& from, std::size_t rows, std::size_t columns,
                               Pair* to) {
  for (std::size_t row = 0; row < rows; row += two_groups)
    pack_paired_turned_rows(from, row, columns, to + row / two_groups * columns * group);
}

/// Writes 32 rows of 16 floats as the transpose of their pairs of rows: (16, rows / 2).
inline void turn_pairs(const float* from, Pair* to) {
  Square words;
  for (std::size_t i = 0; i < group; ++i)
    words[i] = pairs_of(load_vector(from + 2 * i * group), load_vector(from + (2 * i + 1) * group));
  transpose(words);
  for (std::size_t i = 0; i < group; ++i)
    store_vector(to + i * group, words[i]);
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
