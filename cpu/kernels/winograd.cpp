// 3x3 convolutions with a quarter of the multiplications: F(4x4, 3x3) for outputs and for gradients
// of inputs, F(3x3, 4x4) for gradients of weights. Each tile of 4x4 outputs and the 6x6 inputs that
// it depends on are transformed; in between there are 36 matrix products, one for each point. The
// tiles of a block, and what comes of them, stay in the core's second-level cache.
#include "detail/small_products.hpp"
#include "detail/variant.hpp"
#include "detail/winograd_points.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

constexpr std::size_t points = winograd_points, block_size = winograd_block;

// Not std::min and std::max: the linker would keep one variant's copy of these inline functions for
// all instruction sets.
std::size_t smaller(std::size_t a, std::size_t b) {
  return a < b ? a : b;
}

std::size_t larger(std::size_t a, std::size_t b) {
  return a < b ? b : a;
}

/// Where a tile lies: its first output, of one image.
struct Tile {
  std::size_t image, row, column;

  Tile(const WinogradShape& s, std::size_t index) {
    const std::size_t across = (s.width + 3) / 4, down = (s.height + 3) / 4;
    image = index / (across * down);
    row = index / across % down * 4;
    column = index % across * 4;
  }
};

/// Images that tiles are read from: `size` by `size` pixels each, the first `border` before the
/// tile's first output in both dimensions; zeros beyond the image.
template <std::size_t size, std::size_t border>
struct Source {
  const float* images;
  std::size_t height, width, channels;
  const float* zeros;

  bool holds(const Tile& tile) const {
    return tile.row >= border && tile.row - border + size <= height && tile.column >= border &&
           tile.column - border + size <= width;
  }
  const float* image(const Tile& tile) const {
    return images + tile.image * height * width * channels;
  }
};

/// A tile that lies in its image.
template <std::size_t size>
struct InnerPixels {
  const float* first;
  std::size_t row, column;

  template <std::size_t border>
  InnerPixels(const Source<size, border>& s, const Tile& tile)
      : first{s.image(tile) + ((tile.row - border) * s.width + tile.column - border) * s.channels},
        row{s.width * s.channels}, column{s.channels} {}
  const float* at(std::size_t i, std::size_t j) const { return first + i * row + j * column; }
};

template <std::size_t size>
struct BorderPixels {
  const float* pixels[size][size];

  template <std::size_t border>
  BorderPixels(const Source<size, border>& s, const Tile& tile) {
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) {
        // Before the first row or column these are larger than any image.
        const std::size_t row = tile.row + i - border, column = tile.column + j - border;
        pixels[i][j] = row < s.height && column < s.width
                           ? s.image(tile) + (row * s.width + column) * s.channels
                           : s.zeros;
      }
  }
  const float* at(std::size_t i, std::size_t j) const { return pixels[i][j]; }
};

template <std::size_t size>
using Transform = void (*)(const Vector (&)[size], Vector (&)[6]);
template <std::size_t size>
using TransformBack = void (*)(const Vector (&)[6], Vector (&)[size]);

/// Pixels to a value for each point, for one vector of channels.
template <std::size_t size, Transform<size> transform, class PixelAt>
void transform_vector(const PixelAt& pixel, float* out, std::size_t stride) {
  Vector half[size][6]; // by column of pixels
  for (std::size_t j = 0; j < size; ++j) {
    Vector column[size];
    for (std::size_t i = 0; i < size; ++i)
      column[i] = load_vector(pixel(i, j));
    transform(column, half[j]);
  }
  for (std::size_t i = 0; i < 6; ++i) {
    Vector row[size], values[6];
    for (std::size_t j = 0; j < size; ++j)
      row[j] = half[j][i];
    transform(row, values);
    for (std::size_t j = 0; j < 6; ++j)
      store_vector(out + (i * 6 + j) * stride, values[j]);
  }
}

/// Points to values, for one vector of channels.
template <std::size_t size, TransformBack<size> transform>
void transform_back(const float* values, std::size_t stride, Vector (&out)[size][size]) {
  Vector half[6][size];
  for (std::size_t j = 0; j < 6; ++j) {
    Vector column[6];
    for (std::size_t i = 0; i < 6; ++i)
      column[i] = load_vector(values + (i * 6 + j) * stride);
    transform(column, half[j]);
  }
  for (std::size_t i = 0; i < size; ++i) {
    Vector row[6];
    for (std::size_t j = 0; j < 6; ++j)
      row[j] = half[j][i];
    transform(row, out[i]);
  }
}

/// What belongs to one side of a block's tiles: a matrix (tiles, channels) for each point. From one
/// to the next it is a cache line more than a matrix holds, so that the stores of one tile do not
/// fall into one set of the cache.
struct Matrices {
  static constexpr std::size_t group_stride = block_size * group;
  float* values;
  std::size_t point_stride;

  Matrices(float* memory, std::size_t channels)
      : values{memory}, point_stride{block_size * channels + group} {}
  float* at(std::size_t tile, std::size_t channel) const {
    return values + channel / group * group_stride + tile * group + channel % group;
  }
  float* point(std::size_t p) const { return values + p * point_stride; }
};

template <std::size_t size, Transform<size> transform, std::size_t border>
void load_tile(const Source<size, border>& source, const Tile& tile, const Matrices& matrices,
               std::size_t index) {
  const auto all_channels = [&](const auto& pixels) {
    for (std::size_t c = 0; c < source.channels; c += lanes)
      transform_vector<size, transform>(
          [&](std::size_t i, std::size_t j) { return pixels.at(i, j) + c; }, matrices.at(index, c),
          matrices.point_stride);
  };
  if (source.holds(tile))
    all_channels(InnerPixels<size>{source, tile});
  else
    all_channels(BorderPixels<size>{source, tile});
}

void store_tile(const WinogradShape& s, const Tile& tile, const Matrices& matrices,
                std::size_t index, float* y) {
  float* const first = y + ((tile.image * s.height + tile.row) * s.width + tile.column) * s.out;
  const std::size_t row_stride = s.width * s.out, column_stride = s.out;
  const std::size_t rows = smaller(4, s.height - tile.row);
  const std::size_t columns = smaller(4, s.width - tile.column);
  for (std::size_t c = 0; c < column_stride; c += lanes) {
    Vector values[4][4];
    transform_back<4, transform_output>(matrices.at(index, c), matrices.point_stride, values);
    if (rows == 4 && columns == 4) {
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 4; ++j)
          store_vector(first + i * row_stride + j * column_stride + c, values[i][j]);
      continue;
    }
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        store_vector(first + i * row_stride + j * column_stride + c, values[i][j]);
  }
}

/// A block's memory: zeros as long as the longer row of channels, then the two sides' matrices.
struct Block {
  float* zeros;
  Matrices x, y;

  Block(const WinogradShape& s, float* scratch)
      : zeros{scratch}, x{zeros + larger(s.in, s.out), s.in}, y{x.values + points * x.point_stride,
                                                                s.out} {
    for (float* value = zeros; value < x.values; ++value)
      *value = 0;
  }
};

/// Where a weight of channels (in, out) lies in a point's matrix.
std::size_t weight_at(const WinogradShape& s, std::size_t in, std::size_t out) {
  return out / group * s.in * group + in * group + out % group;
}

void winograd_weights(const WinogradShape& s, const float* weights, bool turned, float* u,
                      std::size_t begin, std::size_t end) {
  const std::size_t plane = s.in * s.out;
  for (std::size_t in = begin; in < end; ++in)
    for (std::size_t out = 0; out < s.out; out += lanes) {
      const float* const first = weights + in * s.out + out;
      transform_vector<3, transform_weights>(
          [&](std::size_t i, std::size_t j) {
            const std::size_t at = i * 3 + j;
            return first + (turned ? 8 - at : at) * plane;
          },
          u + weight_at(s, in, out), plane);
    }
}

void winograd_convolve(const WinogradShape& s, const float* x, const float* u, float* y,
                       float* scratch, std::size_t begin, std::size_t end) {
  const Block block{s, scratch};
  const Source<6, 1> source{x, s.height, s.width, s.in, block.zeros};
  for (std::size_t first = begin; first < end; first += block_size) {
    const std::size_t count = smaller(block_size, end - first);
    for (std::size_t t = 0; t < count; ++t)
      load_tile<6, transform_six>(source, {s, first + t}, block.x, t);
    for (std::size_t p = 0; p < points; ++p)
      multiply({block.x.point(p), Matrices::group_stride, u + p * s.in * s.out, s.in * group,
                block.y.point(p), Matrices::group_stride},
               count, s.in, s.out);
    for (std::size_t t = 0; t < count; ++t)
      store_tile(s, {s, first + t}, block.y, t, y);
  }
}

void winograd_gradient(const WinogradShape& s, const float* x, const float* dy, float* sums,
                       float* scratch, std::size_t begin, std::size_t end) {
  const Block block{s, scratch};
  const Source<6, 1> inputs{x, s.height, s.width, s.in, block.zeros};
  const Source<4, 0> outputs{dy, s.height, s.width, s.out, block.zeros};
  for (std::size_t first = begin; first < end; first += block_size) {
    const std::size_t count = smaller(block_size, end - first);
    for (std::size_t t = 0; t < count; ++t) {
      load_tile<6, transform_six>(inputs, {s, first + t}, block.x, t);
      load_tile<4, transform_gradient>(outputs, {s, first + t}, block.y, t);
    }
    for (std::size_t p = 0; p < points; ++p)
      add_transposed({block.x.point(p), Matrices::group_stride, block.y.point(p),
                      Matrices::group_stride, sums + p * s.in * s.out, s.in * group},
                     s.in, count, s.out);
  }
}

void winograd_weight_gradient(const WinogradShape& s, const float* sums, float* gradient,
                              std::size_t begin, std::size_t end) {
  const std::size_t plane = s.in * s.out;
  for (std::size_t in = begin; in < end; ++in)
    for (std::size_t out = 0; out < s.out; out += lanes) {
      Vector values[3][3];
      transform_back<3, transform_weight_gradient>(sums + weight_at(s, in, out), plane, values);
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j)
          store_vector(gradient + (i * 3 + j) * plane + in * s.out + out, values[i][j]);
    }
}

} // namespace

void set_winograd(Kernels& kernels) {
  kernels.winograd_weights = winograd_weights;
  kernels.winograd_convolve = winograd_convolve;
  kernels.winograd_gradient = winograd_gradient;
  kernels.winograd_weight_gradient = winograd_weight_gradient;
}

} // namespace troupe::cpu::TROUPE_VARIANT
