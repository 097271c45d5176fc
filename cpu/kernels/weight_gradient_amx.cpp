// Gradients of a linear layer's weights in bf16, for processors that multiply tiles of bf16 pairs:
// pairs of rows. The library's products need one operand transposed in memory, which costs more
// than the transposition in registers while packing.
#include "cpu/kernels/detail/packing.hpp"
#include "cpu/kernels/detail/tile_products.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

using Limits = WeightGradientKernels;

/// Rows whose packed columns of x stay in the first-level cache, with a block of dy's.
constexpr std::size_t near_rows = 256;

/// Distance between groups of x's columns, (in / 16, rows / 2, 16) pairs of rows.
constexpr std::size_t x_group = padded(Limits::most_rows / 2);
/// Distance between groups of dy's rows, (rows / 32, outputs, 16) pairs of rows.
constexpr std::size_t dy_group = padded(Limits::most_outputs);

std::size_t packed_floats(std::size_t in) {
  return whole(in, tile_block) / group * x_group;
}

std::size_t sums_floats(std::size_t in) {
  return whole(in, tile_block) / group * dy_group;
}

/// Packed rows of dy.
std::size_t scratch_floats() {
  return Limits::most_rows / tile_block * dy_group;
}

void pack(const ActivationRows& x, float* packed, std::size_t begin, std::size_t end) {
  const BfRows from{x.first, x.width, x.count, x.width};
  auto* const to = reinterpret_cast<Pair*>(packed);
  const std::size_t last = whole(end, tile_block);
  for (std::size_t block = begin; block < last; block += Limits::row_block)
    for (std::size_t c = 0; c < x.width; c += tile_block)
      for (std::size_t row = block; row < block + Limits::row_block; row += 2)
        pack_paired_rows(from, row, c, to + c / group * x_group + row / 2 * group, x_group);
}

void write(const GradientBlock& block, std::size_t in) {
  for (std::size_t k = 0; k < block.count; ++k)
    for (std::size_t c = 0; c < in; c += group)
      store_some(block.dweight + (block.first + k) * in, c, in,
                 load_vector(block.sums + c / group * dy_group + k * group));
}

void multiply(const ActivationRows& dy, const float* packed, std::size_t in,
              const GradientBlock& block, float* scratch) {
  const Tiles tiles;
  auto* const left = reinterpret_cast<Pair*>(scratch);
  const auto* const right = reinterpret_cast<const Pair*>(packed);
  const std::size_t rows = whole(dy.count, tile_block), outputs = whole(block.count, tile_block);
  const BfRows columns{dy.first + block.first, dy.width, dy.count, block.count};
  for (std::size_t row = 0; row < rows; row += tile_block)
    pack_paired_turned_rows(columns, row, outputs, left + row / tile_block * dy_group);
  for (std::size_t c = 0; c < in; c += tile_block)
    for (std::size_t row = 0; row < rows; row += near_rows) {
      const Product<Pair> product{left + row / tile_block * dy_group,
                                  dy_group,
                                  right + c / group * x_group + row / 2 * group,
                                  x_group,
                                  block.sums + c / group * dy_group,
                                  dy_group};
      const std::size_t steps = (rows - row < near_rows ? rows - row : near_rows) / 2;
      if (row > 0 || block.add)
        multiply_by_tiles<true>(product, outputs, steps, tile_block);
      else
        multiply_by_tiles(product, outputs, steps, tile_block);
    }
  if (block.dweight)
    write(block, in);
}

} // namespace

void set_weight_gradient_amx(Kernels& kernels) {
  kernels.weight_gradient = {packed_floats, sums_floats, scratch_floats, pack, multiply};
}

} // namespace troupe::cpu::TROUPE_VARIANT
