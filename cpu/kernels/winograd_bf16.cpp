// 3x3 convolutions of bf16 with four ninths of the multiplications, F(2x2, 3x3), for inference:
// each tile of 2x2 outputs and the 4x4 inputs that it depends on are transformed in f32 and rounded
// to bf16; in between there are 16 products of matrices of bf16, one for each point, added up in
// f32.
#include "cpu/kernels/detail/winograd_tiles.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

// F(2, 3): the products at the points 0, 1, -1 and infinity (A. Lavin and S. Gray, "Fast Algorithms
// for Convolutional Neural Networks", 2015). All factors but one half are 1 or -1, so that values
// are rounded to bf16 only once.

/// Transforms four neighbours of an input.
inline void transform_four(const Vector (&d)[4], Vector (&v)[4]) {
  v[0] = d[0] - d[2];
  v[1] = d[1] + d[2];
  v[2] = d[2] - d[1];
  v[3] = d[1] - d[3];
}

inline void transform_three_weights(const Vector (&g)[3], Vector (&u)[4]) {
  const Vector even = 0.5f * (g[0] + g[2]), odd = 0.5f * g[1];
  u[0] = g[0];
  u[1] = even + odd;
  u[2] = even - odd;
  u[3] = g[2];
}

inline void transform_two_outputs(const Vector (&m)[4], Vector (&y)[2]) {
  y[0] = m[0] + m[1] + m[2];
  y[1] = m[1] - m[2] - m[3];
}

constexpr std::size_t points = winograd_bf16_points;
/// Tiles processed at once: their matrices stay in the second-level cache.
constexpr std::size_t block_size = 32;
/// Output channels whose products stay in the cache between the points and the outputs.
constexpr std::size_t chunk = 64;

using Inputs = Matrices<Pair, block_size>;
using Products = Matrices<float, block_size>;

/// A block's memory: zeros as long as a row of channels, then the matrices of both sides.
struct Block {
  Bf16* zeros;
  Inputs x;
  Products y;

  static std::size_t bytes(const WinogradShape& s) {
    return s.in * sizeof(Bf16) + points * (Inputs::elements(s.in / 2) * sizeof(Pair) +
                                           Products::elements(chunk) * sizeof(float));
  }

  Block(const WinogradShape& s, std::byte* scratch)
      : zeros{reinterpret_cast<Bf16*>(scratch)}, x{reinterpret_cast<Pair*>(zeros + s.in), s.in / 2},
        y{reinterpret_cast<float*>(x.values + points * x.point_stride), chunk} {
    for (std::size_t i = 0; i < s.in; ++i)
      zeros[i] = {};
  }
};

void load_tile(const Source<Bf16, 4, 1>& source, const Tile<2>& tile, const Inputs& matrices,
               std::size_t index) {
  const auto all_channels = [&](const auto& pixels) {
    for (std::size_t c = 0; c < source.channels; c += lanes) {
      Pair* const first = matrices.at(index, c / 2);
      transform_square<4, 4, transform_four>(
          [&](std::size_t i, std::size_t j) { return load_vector(pixels.at(i, j) + c); },
          [&](std::size_t i, std::size_t j, Vector value) {
            store_vector(reinterpret_cast<Bf16*>(first + (i * 4 + j) * matrices.point_stride),
                         value);
          });
    }
  };
  if (source.holds(tile))
    all_channels(InnerPixels<Bf16, 4>{source, tile});
  else
    all_channels(BorderPixels<Bf16, 4>{source, tile});
}

/// Writes the outputs of channels [begin, begin + chunk).
void store_tile(const WinogradShape& s, const Tile<2>& tile, const Products& matrices,
                std::size_t index, const WinogradOutput& output, std::size_t begin) {
  const std::size_t end = smaller(begin + chunk, s.out);
  const std::size_t first = ((tile.image * s.height + tile.row) * s.width + tile.column) * s.out;
  const std::size_t rows = s.height - tile.row, columns = s.width - tile.column;
  for (std::size_t c = begin; c < end; c += lanes) {
    const float* const values = matrices.at(index, c - begin);
    const Vector bias = output.bias ? load_vector(output.bias + c) : Vector{};
    transform_square<4, 2, transform_two_outputs>(
        [&](std::size_t i, std::size_t j) {
          return load_vector(values + (i * 4 + j) * matrices.point_stride);
        },
        [&](std::size_t i, std::size_t j, Vector value) {
          if (i >= rows || j >= columns)
            return;
          const std::size_t at = first + (i * s.width + j) * s.out + c;
          value += bias;
          if (output.residual)
            value += load_vector(output.residual + at);
          if (output.relu)
            value = value < 0.0f ? Vector{} : value; // a NaN stays
          store_vector(output.y + at, value);
        });
  }
}

/// Writes rows of pairs: neighbouring input channels of one output channel.
void winograd_bf16_weights(const WinogradShape& s, const float* weights, Bf16* u, std::size_t begin,
                           std::size_t end) {
  const std::size_t plane = s.in * s.out;
  for (std::size_t in = begin; in < end; ++in)
    for (std::size_t out = 0; out < s.out; out += lanes) {
      const float* const first = weights + in * s.out + out;
      Bf16* const transformed =
          u + out / group * s.in * group + in / 2 * 2 * group + out % group * 2 + in % 2;
      transform_square<3, 4, transform_three_weights>(
          [&](std::size_t i, std::size_t j) { return load_vector(first + (i * 3 + j) * plane); },
          [&](std::size_t i, std::size_t j, Vector value) {
            for (std::size_t lane = 0; lane < lanes; ++lane)
              store(transformed + (i * 4 + j) * plane, 2 * lane, value[lane]);
          });
    }
}

void winograd_bf16_convolve(const WinogradShape& s, const Bf16* x, const Bf16* u,
                            const WinogradOutput& output, std::byte* scratch, std::size_t begin,
                            std::size_t end) {
  const Block block{s, scratch};
  const Source<Bf16, 4, 1> source{x, s.height, s.width, s.in, block.zeros};
  const auto* const pairs = reinterpret_cast<const Pair*>(u);
  const std::size_t plane = s.in * s.out / 2, u_group = s.in / 2 * group;
  for (std::size_t first = begin; first < end; first += block_size) {
    const std::size_t count = smaller(block_size, end - first);
    for (std::size_t t = 0; t < count; ++t)
      load_tile(source, {s, first + t}, block.x, t);
    for (std::size_t c = 0; c < s.out; c += chunk) {
      for (std::size_t p = 0; p < points; ++p)
        multiply<Pair>({block.x.point(p), Inputs::group_stride,
                        pairs + p * plane + c / group * u_group, u_group, block.y.point(p),
                        Products::group_stride},
                       count, s.in / 2, smaller(chunk, s.out - c));
      for (std::size_t t = 0; t < count; ++t)
        store_tile(s, {s, first + t}, block.y, t, output, c);
    }
  }
}

std::size_t winograd_bf16_scratch(const WinogradShape& s) {
  return Block::bytes(s);
}

} // namespace

void set_winograd_bf16(Kernels& kernels) {
  kernels.winograd_bf16_scratch = winograd_bf16_scratch;
  kernels.winograd_bf16_weights = winograd_bf16_weights;
  kernels.winograd_bf16_convolve = winograd_bf16_convolve;
}

} // namespace troupe::cpu::TROUPE_VARIANT
