/// Products of tiles in shared memory, and the rows of a head that tiles are loaded from.
///
/// A block has 16 * 16 threads. Each thread computes every 16th row and every 16th column of the
/// block's result. Threads with the same rows are neighbouring lanes.
#pragma once

#include "gpu/kernels/attention.hpp"
#include "gpu/kernels/detail/pack.cuh"
#include "gpu/kernels/detail/reduce.cuh"

#include <algorithm>
#include <cstdint>

namespace troupe::gpu {

inline constexpr int tile_side = 16, tile_threads = tile_side * tile_side;

/// Return the thread's i-th row and j-th column.
__device__ inline int row_of(int i) {
  return static_cast<int>(threadIdx.x) / tile_side + tile_side * i;
}
__device__ inline int column_of(int j) {
  return static_cast<int>(threadIdx.x) % tile_side + tile_side * j;
}

/// sums += a * b, with a(row, k) and b(k, column).
template <int Rows, int Columns, class A, class B>
__device__ void add_products(float (&sums)[Rows][Columns], int depth, A a, B b) {
#pragma unroll 4
  for (int k = 0; k < depth; ++k) {
    float left[Rows], right[Columns];
#pragma unroll
    for (int i = 0; i < Rows; ++i)
      left[i] = a(row_of(i), k);
#pragma unroll
    for (int j = 0; j < Columns; ++j)
      right[j] = b(k, column_of(j));
#pragma unroll
    for (int i = 0; i < Rows; ++i)
#pragma unroll
      for (int j = 0; j < Columns; ++j)
        sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
  }
}

__device__ inline int heads_per_kv(const AttentionShape& s) {
  return static_cast<int>(s.attributes.heads / s.attributes.kv_heads);
}

/// Rows of one head in one sequence.
template <class T>
struct HeadRows {
  T* first;
  std::int64_t distance;

  __device__ T* row(int n) const { return first + n * distance; }
  /// Whether rows of `columns` elements are whole, aligned packs.
  __device__ bool are_packs(int columns) const {
    constexpr auto width = static_cast<std::uintptr_t>(pack_width<T>);
    return reinterpret_cast<std::uintptr_t>(first) % (width * sizeof(T)) == 0 &&
           static_cast<std::uintptr_t>(distance) % width == 0 && columns % width == 0;
  }
};

/// One head of one sequence, with the keys and values that it reads.
template <class T>
struct Heads {
  int sequence, columns; ///< rows, and elements of each
  float scale;
  std::int64_t first_row, heads, head, kv_head, q_distance, kv_distance;

  __device__ Heads(const AttentionShape& s, unsigned sequence_index, unsigned head_,
                   unsigned kv_head_)
      : sequence{static_cast<int>(s.attributes.sequence)},
        columns{static_cast<int>(s.attributes.head_dim)}, scale{1 /
                                                                sqrtf(static_cast<float>(columns))},
        first_row{sequence_index * s.attributes.sequence}, heads{s.attributes.heads}, head{head_},
        kv_head{kv_head_}, q_distance{s.q_distance}, kv_distance{s.kv_distance} {}

  /// Rows of q and dq; of k, v and their gradients; of y and dy.
  __device__ HeadRows<const T> q(const void* all) const { return rows(all, head, q_distance); }
  __device__ HeadRows<T> q(void* all) const { return rows(all, head, q_distance); }
  __device__ HeadRows<const T> kv(const void* all) const { return rows(all, kv_head, kv_distance); }
  __device__ HeadRows<T> kv(void* all) const { return rows(all, kv_head, kv_distance); }
  __device__ HeadRows<const T> y(const void* all) const { return rows(all, head, heads * columns); }
  __device__ HeadRows<T> y(void* all) const { return rows(all, head, heads * columns); }
  /// Index of a row's scalar of this head in (sequences, heads, sequence), and in (rows, heads).
  __device__ std::int64_t by_head(int row) const {
    return first_row * heads + head * sequence + row;
  }
  __device__ std::int64_t by_row(int row) const { return (first_row + row) * heads + head; }

private:
  __device__ HeadRows<const T> rows(const void* all, std::int64_t of, std::int64_t distance) const {
    return {static_cast<const T*>(all) + first_row * distance + of * columns, distance};
  }
  __device__ HeadRows<T> rows(void* all, std::int64_t of, std::int64_t distance) const {
    return {static_cast<T*>(all) + first_row * distance + of * columns, distance};
  }
};

/// A matrix in shared memory. The extra column avoids bank conflicts between threads that each read
/// a column.
template <int Rows, int Columns>
struct Tile {
  float values[Rows][Columns + 1];

  /// Loads rows of a head from `first` on; rows past the sequence's end are 0. Leaves columns past
  /// the head's as they are.
  template <class T>
  __device__ void load(const HeadRows<const T>& from, int first, const Heads<T>& heads,
                       float factor = 1) {
    if (from.are_packs(heads.columns))
      load_wide<pack_width<T>>(from, first, heads, factor);
    else
      load_wide<1>(from, first, heads, factor);
  }

  /// Accessors for add_products: the tile, and its transpose.
  __device__ auto rows() const {
    return [this](int row, int column) { return values[row][column]; };
  }
  __device__ auto turned() const {
    return [this](int column, int row) { return values[row][column]; };
  }

private:
  template <int Width, class T>
  __device__ void load_wide(const HeadRows<const T>& from, int first, const Heads<T>& heads,
                            float factor) {
    const int packs = heads.columns / Width;
    for (int i = threadIdx.x; i < Rows * packs; i += tile_threads) {
      const int row = i / packs, column = i % packs * Width;
      float loaded[Width] = {};
      if (first + row < heads.sequence)
        load_floats(from.row(first + row) + column, loaded);
#pragma unroll
      for (int c = 0; c < Width; ++c)
        values[row][column + c] = factor * loaded[c];
    }
  }
};

/// Stores the thread's values of a row, times a factor, if the row exists.
template <int Columns, class T>
__device__ void store_row(const HeadRows<T>& to, int row, const Heads<T>& heads,
                          const float (&values)[Columns], float factor) {
  if (row >= heads.sequence)
    return;
#pragma unroll
  for (int j = 0; j < Columns; ++j)
    if (column_of(j) < heads.columns)
      to.row(row)[column_of(j)] = from_float<T>(values[j] * factor);
}

} // namespace troupe::gpu
