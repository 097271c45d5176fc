// 3x3 convolutions with a quarter of the multiplications: F(4x4, 3x3) for outputs and for gradients
// of inputs, F(3x3, 4x4) for gradients of weights. Each tile of 4x4 outputs and the 6x6 inputs that
// it depends on are transformed; in between there are 36 matrix products, one for each point. The
// tiles of a block, and their products, stay in the core's second-level cache.
#include "cpu/kernels/detail/winograd_tiles.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

// The Toom-Cook transforms for products of polynomials at the points 0, a, -a, b, -b and infinity,
// in one dimension. A convolution in two dimensions transforms rows, then columns.
//
// Source: A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015. They
// use the points 0, 1, -1, 2, -2. With 5/8 and 3/2, the rounding error is half of theirs, about
// twice that of adding the products up one by one (method to find such points: B. Barabasz et al.,
// "Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks",
// 2018).

constexpr float a1 = 0.625f, a2 = a1 * a1, a3 = a2 * a1;
constexpr float b1 = 1.5f, b2 = b1 * b1, b3 = b2 * b1;

/// One divided by the product of a point's distances to the other points.
constexpr float at_zero = 1 / (a2 * b2), at_a = 1 / (2 * a2 * (a2 - b2)),
                at_b = 1 / (2 * b2 * (b2 - a2));

/// Transforms six neighbours of an input, for both products below.
inline void transform_six(const Vector (&d)[6], Vector (&v)[6]) {
  const Vector odd_a = d[3] - b2 * d[1], even_a = d[4] - b2 * d[2];
  const Vector odd_b = d[3] - a2 * d[1], even_b = d[4] - a2 * d[2];
  v[0] = d[4] + (a2 * b2 * d[0] - (a2 + b2) * d[2]);
  v[1] = even_a + a1 * odd_a;
  v[2] = even_a - a1 * odd_a;
  v[3] = even_b + b1 * odd_b;
  v[4] = even_b - b1 * odd_b;
  v[5] = d[5] + (a2 * b2 * d[1] - (a2 + b2) * d[3]);
}

/// F(4, 3): three weights, and four neighbours of the output.
inline void transform_weights(const Vector (&g)[3], Vector (&u)[6]) {
  const Vector even_a = at_a * (g[0] + a2 * g[2]), even_b = at_b * (g[0] + b2 * g[2]);
  u[0] = at_zero * g[0];
  u[1] = even_a + at_a * a1 * g[1];
  u[2] = even_a - at_a * a1 * g[1];
  u[3] = even_b + at_b * b1 * g[1];
  u[4] = even_b - at_b * b1 * g[1];
  u[5] = g[2];
}

inline void transform_output(const Vector (&m)[6], Vector (&y)[4]) {
  const Vector sum_a = m[1] + m[2], difference_a = m[1] - m[2];
  const Vector sum_b = m[3] + m[4], difference_b = m[3] - m[4];
  y[0] = m[0] + sum_a + sum_b;
  y[1] = a1 * difference_a + b1 * difference_b;
  y[2] = a2 * sum_a + b2 * sum_b;
  y[3] = m[5] + a3 * difference_a + b3 * difference_b;
}

/// F(3, 4): four neighbours of the output's gradient, and the gradients of the three weights. The
/// factors of the points are in the latter transform, which runs once for all tiles.
inline void transform_gradient(const Vector (&g)[4], Vector (&u)[6]) {
  const Vector even_a = g[0] + a2 * g[2], odd_a = g[1] + a2 * g[3];
  const Vector even_b = g[0] + b2 * g[2], odd_b = g[1] + b2 * g[3];
  u[0] = g[0];
  u[1] = even_a + a1 * odd_a;
  u[2] = even_a - a1 * odd_a;
  u[3] = even_b + b1 * odd_b;
  u[4] = even_b - b1 * odd_b;
  u[5] = g[3];
}

inline void transform_weight_gradient(const Vector (&m)[6], Vector (&g)[3]) {
  const Vector sum_a = at_a * (m[1] + m[2]), sum_b = at_b * (m[3] + m[4]);
  g[0] = at_zero * m[0] + sum_a + sum_b;
  g[1] = at_a * a1 * (m[1] - m[2]) + at_b * b1 * (m[3] - m[4]);
  g[2] = m[5] + a2 * sum_a + b2 * sum_b;
}

constexpr std::size_t points = winograd_points, block_size = winograd_block;

using Floats = Matrices<float, block_size>;

template <std::size_t size, Transform<size, 6> transform, std::size_t border>
void load_tile(const Source<float, size, border>& source, const Tile<4>& tile,
               const Floats& matrices, std::size_t index) {
  const auto all_channels = [&](const auto& pixels) {
    for (std::size_t c = 0; c < source.channels; c += lanes) {
      float* const first = matrices.at(index, c);
      transform_square<size, 6, transform>(
          [&](std::size_t i, std::size_t j) { return load_vector(pixels.at(i, j) + c); },
          [&](std::size_t i, std::size_t j, Vector value) {
            store_vector(first + (i * 6 + j) * matrices.point_stride, value);
          });
    }
  };
  if (source.holds(tile))
    all_channels(InnerPixels<float, size>{source, tile});
  else
    all_channels(BorderPixels<float, size>{source, tile});
}

void store_tile(const WinogradShape& s, const Tile<4>& tile, const Floats& matrices,
                std::size_t index, float* y) {
  float* const first = y + ((tile.image * s.height + tile.row) * s.width + tile.column) * s.out;
  const std::size_t rows = smaller(4, s.height - tile.row);
  const std::size_t columns = smaller(4, s.width - tile.column);
  for (std::size_t c = 0; c < s.out; c += lanes) {
    const float* const values = matrices.at(index, c);
    const auto value_at = [&](std::size_t i, std::size_t j) {
      return load_vector(values + (i * 6 + j) * matrices.point_stride);
    };
    const auto store = [&](std::size_t i, std::size_t j, Vector value) {
      store_vector(first + (i * s.width + j) * s.out + c, value);
    };
    if (rows == 4 && columns == 4)
      transform_square<6, 4, transform_output>(value_at, store);
    else
      transform_square<6, 4, transform_output>(value_at,
                                               [&](std::size_t i, std::size_t j, Vector value) {
                                                 if (i < rows && j < columns)
                                                   store(i, j, value);
                                               });
  }
}

/// A block's memory: zeros as long as the longer row of channels, then the matrices of both sides.
struct Block {
  float* zeros;
  Floats x, y;

  Block(const WinogradShape& s, float* scratch)
      : zeros{scratch}, x{zeros + larger(s.in, s.out), s.in}, y{x.values + points * x.point_stride,
                                                                s.out} {
    for (float* value = zeros; value < x.values; ++value)
      *value = 0;
  }
};

/// Returns the offset of a weight of channels (in, out) in a point's matrix.
std::size_t weight_at(const WinogradShape& s, std::size_t in, std::size_t out) {
  return out / group * s.in * group + in * group + out % group;
}

void winograd_weights(const WinogradShape& s, const float* weights, bool turned, float* u,
                      std::size_t begin, std::size_t end) {
  const std::size_t plane = s.in * s.out;
  for (std::size_t out = 0; out < s.out; out += lanes)
    for (std::size_t in = begin; in < end; ++in) {
      const float* const first = weights + in * s.out + out;
      float* const transformed = u + weight_at(s, in, out);
      transform_square<3, 6, transform_weights>(
          [&](std::size_t i, std::size_t j) {
            const std::size_t at = i * 3 + j;
            return load_vector(first + (turned ? 8 - at : at) * plane);
          },
          [&](std::size_t i, std::size_t j, Vector value) {
            store_vector(transformed + (i * 6 + j) * plane, value);
          });
    }
}

void winograd_convolve(const WinogradShape& s, const float* x, const float* u, float* y,
                       float* scratch, std::size_t begin, std::size_t end) {
  const Block block{s, scratch};
  const Source<float, 6, 1> source{x, s.height, s.width, s.in, block.zeros};
  for (std::size_t first = begin; first < end; first += block_size) {
    const std::size_t count = smaller(block_size, end - first);
    for (std::size_t t = 0; t < count; ++t)
      load_tile<6, transform_six>(source, {s, first + t}, block.x, t);
    for (std::size_t p = 0; p < points; ++p)
      multiply<float>({block.x.point(p), Floats::group_stride, u + p * s.in * s.out, s.in * group,
                       block.y.point(p), Floats::group_stride},
                      count, s.in, s.out);
    for (std::size_t t = 0; t < count; ++t)
      store_tile(s, {s, first + t}, block.y, t, y);
  }
}

void winograd_gradient(const WinogradShape& s, const float* x, const float* dy, float* sums,
                       float* scratch, std::size_t begin, std::size_t end) {
  const Block block{s, scratch};
  const Source<float, 6, 1> inputs{x, s.height, s.width, s.in, block.zeros};
  const Source<float, 4, 0> outputs{dy, s.height, s.width, s.out, block.zeros};
  for (std::size_t first = begin; first < end; first += block_size) {
    const std::size_t count = smaller(block_size, end - first);
    for (std::size_t t = 0; t < count; ++t) {
      load_tile<6, transform_six>(inputs, {s, first + t}, block.x, t);
      load_tile<4, transform_gradient>(outputs, {s, first + t}, block.y, t);
    }
    for (std::size_t p = 0; p < points; ++p)
      add_transposed({block.x.point(p), Floats::group_stride, block.y.point(p),
                      Floats::group_stride, sums + p * s.in * s.out, s.in * group},
                     s.in, count, s.out);
  }
}

void winograd_weight_gradient(const WinogradShape& s, const float* sums, float* gradient,
                              std::size_t begin, std::size_t end) {
  const std::size_t plane = s.in * s.out;
  for (std::size_t in = begin; in < end; ++in)
    for (std::size_t out = 0; out < s.out; out += lanes) {
      const float* const summed = sums + weight_at(s, in, out);
      transform_square<6, 3, transform_weight_gradient>(
          [&](std::size_t i, std::size_t j) { return load_vector(summed + (i * 6 + j) * plane); },
          [&](std::size_t i, std::size_t j, Vector value) {
            store_vector(gradient + (i * 3 + j) * plane + in * s.out + out, value);
          });
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
