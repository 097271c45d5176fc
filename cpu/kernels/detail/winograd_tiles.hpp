/// Included only by the Winograd kernels: tiles of images, the pixels that they are read from, and
/// one-dimensional transforms applied to their rows, then to their columns.
#pragma once

#include "cpu/kernels/detail/small_products.hpp"
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

// Not std::min and std::max: the linker would keep one variant's copy of these inline functions for
// all instruction sets.
inline std::size_t smaller(std::size_t a, std::size_t b) {
  return a < b ? a : b;
}

inline std::size_t larger(std::size_t a, std::size_t b) {
  return a < b ? b : a;
}

/// The position of a tile of `outputs` by `outputs`: its image, and its first output there.
template <std::size_t outputs>
struct Tile {
  std::size_t image, row, column;

  Tile(const WinogradShape& s, std::size_t index) {
    const std::size_t across = (s.width + outputs - 1) / outputs;
    const std::size_t down = (s.height + outputs - 1) / outputs;
    image = index / (across * down);
    row = index / across % down * outputs;
    column = index % across * outputs;
  }
};

/// Images that tiles are read from: `size` by `size` pixels each, the first `border` before the
/// tile's first output in both dimensions; zeros beyond the image.
template <class T, std::size_t size, std::size_t border>
struct Source {
  const T* images;
  std::size_t height, width, channels;
  const T* zeros;

  template <std::size_t outputs>
  bool holds(const Tile<outputs>& tile) const {
    return tile.row >= border && tile.row - border + size <= height && tile.column >= border &&
           tile.column - border + size <= width;
  }
  template <std::size_t outputs>
  const T* image(const Tile<outputs>& tile) const {
    return images + tile.image * height * width * channels;
  }
};

/// A tile that lies inside its image.
template <class T, std::size_t size>
struct InnerPixels {
  const T* first;
  std::size_t row, column;

  template <std::size_t border, std::size_t outputs>
  InnerPixels(const Source<T, size, border>& s, const Tile<outputs>& tile)
      : first{s.image(tile) + ((tile.row - border) * s.width + tile.column - border) * s.channels},
        row{s.width * s.channels}, column{s.channels} {}
  const T* at(std::size_t i, std::size_t j) const { return first + i * row + j * column; }
};

template <class T, std::size_t size>
struct BorderPixels {
  const T* pixels[size][size];

  template <std::size_t border, std::size_t outputs>
  BorderPixels(const Source<T, size, border>& s, const Tile<outputs>& tile) {
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) {
        // Before the first row or column, these wrap to values larger than any image.
        const std::size_t row = tile.row + i - border, column = tile.column + j - border;
        pixels[i][j] = row < s.height && column < s.width
                           ? s.image(tile) + (row * s.width + column) * s.channels
                           : s.zeros;
      }
  }
  const T* at(std::size_t i, std::size_t j) const { return pixels[i][j]; }
};

/// One side of a block's tiles: a matrix (tiles, columns) for each point. Each matrix takes a cache
/// line more than it needs, so that the stores of one tile do not fall into one set of the cache.
template <class T, std::size_t tiles>
struct Matrices {
  static constexpr std::size_t group_stride = tiles * group;
  T* values;
  std::size_t point_stride;

  /// Elements per point.
  static std::size_t elements(std::size_t columns) { return tiles * columns + group; }

  Matrices(T* memory, std::size_t columns) : values{memory}, point_stride{elements(columns)} {}
  T* at(std::size_t tile, std::size_t column) const {
    return values + column / group * group_stride + tile * group + column % group;
  }
  T* point(std::size_t p) const { return values + p * point_stride; }
};

/// Transforms `from` values of one dimension to `to` values.
template <std::size_t from, std::size_t to>
using Transform = void (*)(const Vector (&)[from], Vector (&)[to]);

/// Transforms both dimensions, for one vector of channels: calls value_at(i, j) in any order, and
/// store(i, j, value) for each result.
template <std::size_t from, std::size_t to, Transform<from, to> transform, class ValueAt,
          class Store>
void transform_square(const ValueAt& value_at, const Store& store) {
  Vector half[from][to]; // by column
  for (std::size_t j = 0; j < from; ++j) {
    Vector column[from];
    for (std::size_t i = 0; i < from; ++i)
      column[i] = value_at(i, j);
    transform(column, half[j]);
  }
  for (std::size_t i = 0; i < to; ++i) {
    Vector row[from], values[to];
    for (std::size_t j = 0; j < from; ++j)
      row[j] = half[j][i];
    transform(row, values);
    for (std::size_t j = 0; j < to; ++j)
      store(i, j, values[j]);
  }
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
