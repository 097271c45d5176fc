// Products of rows of pixels and packed panels, with sums in registers.
#include "cpu/kernels/detail/small_products.hpp"
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

/// Rows and groups of columns whose sums fit into the registers.
#if defined(__AVX512F__)
constexpr std::size_t tile_rows = 6, most_groups = 4;
#elif defined(__AVX2__) || defined(__aarch64__)
constexpr std::size_t tile_rows = 6, most_groups = 1;
#else
constexpr std::size_t tile_rows = 2, most_groups = 1;
#endif

/// Depth of the panels that stay in the first-level cache while rows are multiplied with them.
constexpr std::size_t depth_block = 256;

/// Calls body(i) for each constant i below `count`, so that elements of arrays that it indexes stay
/// in registers.
template <std::size_t count, class Body>
[[gnu::always_inline]] inline void unrolled(const Body& body) {
  [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    (body(std::integral_constant<std::size_t, i>{}), ...);
  }
  (std::make_index_sequence<count>());
}

inline std::size_t least(std::size_t a, std::size_t b) {
  return a < b ? a : b;
}

/// A tile of a row-major matrix: its first element, the distance of its rows, how many of them
/// exist, and whether sums are added to it.
struct ResultTile {
  float* first;
  std::size_t distance, rows;
  bool add;
};

/// Sums of a tile. Rows beyond the last repeat it and are not stored.
template <std::size_t groups, class AddSteps>
void sum_tile(const ResultTile& tile, const AddSteps& add_steps) {
  using TileSums = Sums<tile_rows, groups>;
  TileSums sums;
  unrolled<tile_rows>([&](auto r) {
    unrolled<TileSums::vectors>([&](auto v) {
      sums.values[r][v] =
          tile.add ? load_vector(tile.first + least(r, tile.rows - 1) * tile.distance + v * lanes)
                   : Vector{};
    });
  });
  add_steps(sums);
  unrolled<tile_rows>([&](auto r) {
    if (r < tile.rows)
      unrolled<TileSums::vectors>([&](auto v) {
        store_vector(tile.first + r * tile.distance + v * lanes, sums.values[r][v]);
      });
  });
}

/// Calls body(first column, groups) for all columns, with as many groups as possible at a time.
template <std::size_t groups = most_groups, class Body>
void for_groups(std::size_t first, std::size_t end, const Body& body) {
  for (; first + groups * group <= end; first += groups * group)
    body.template operator()<groups>(first);
  if constexpr (groups > 1)
    for_groups<groups / 2>(first, end, body);
}

/// The addresses of a tile's rows; rows beyond the last repeat it.
struct LeftRows {
  const float* rows[tile_rows];

  LeftRows(const PixelRows& left, std::size_t first, std::size_t column) {
    for (std::size_t r = 0; r < tile_rows; ++r)
      rows[r] = left.rows[least(first + r, left.count - 1)] + column;
  }
};

/// Transposes as many rows and columns as a register has lanes.
void transpose_square(const float* from, std::size_t distance, float* to) {
  Vector square[lanes];
  for (std::size_t i = 0; i < lanes; ++i)
    square[i] = load_vector(from + i * distance);
  transpose(square);
  for (std::size_t i = 0; i < lanes; ++i)
    store_vector(to + i * group, square[i]);
}

/// Packs a panel whose columns are rows in memory.
void pack_transposed_panel(const float* rows, std::size_t distance, std::size_t depth, float* to) {
  std::size_t step = 0;
  for (; step + lanes <= depth; step += lanes)
    for (std::size_t c = 0; c < group; c += lanes)
      transpose_square(rows + c * distance + step, distance, to + step * group + c);
  for (; step < depth; ++step)
    for (std::size_t c = 0; c < group; ++c)
      to[step * group + c] = rows[c * distance + step];
}

/// Packs row by row: the columns of all panels lie next to each other.
void pack_rows(const RightMatrix& matrix, std::size_t depth, std::size_t columns, float* panels,
               std::size_t panel_depth) {
  constexpr std::size_t fetched_ahead = 8;
  for (std::size_t step = 0; step < depth; ++step) {
    const float* const from = matrix.values + step * matrix.distance;
    for (std::size_t first = 0; first < columns; first += group) {
      __builtin_prefetch(from + fetched_ahead * matrix.distance + first);
      __builtin_memcpy(panels + first * panel_depth + step * group, from + first,
                       group * sizeof(float));
    }
  }
}

void pack(const RightMatrix& matrix, std::size_t depth, std::size_t columns, float* panels,
          std::size_t panel_depth) {
  if (!matrix.transposed)
    return pack_rows(matrix, depth, columns, panels, panel_depth);
  for (std::size_t first = 0; first < columns; first += group)
    pack_transposed_panel(matrix.values + first * matrix.distance, matrix.distance, depth,
                          panels + first * panel_depth);
}

/// Fetches a part of the next tile's rows, which are not where the processor expects them.
void fetch_rows(const PixelRows& left, std::size_t first, std::size_t column, std::size_t depth) {
  const std::size_t end = least(first + tile_rows, left.count);
  for (std::size_t row = first; row < end; ++row)
    for (std::size_t step = 0; step < depth; step += group)
      __builtin_prefetch(left.rows[row] + column + step);
}

/// A part of the right matrix: columns from `first` on, and a part of the depth of some taps.
struct PanelBlock {
  std::size_t first, tap, taps, column, depth;
};

PixelRows rows_of(const PanelProduct& p, std::size_t tap) {
  return {p.left.rows + tap * p.left.count, p.left.count};
}

/// Multiplies some groups of columns of a block.
template <std::size_t groups>
void multiply_block(const PanelProduct& p, const PanelBlock& block) {
  const std::size_t group_stride = p.taps * p.depth * group;
  const float* const panels =
      p.panels + block.first / group * group_stride + (block.tap * p.depth + block.column) * group;
  const bool fetch = block.first == 0 && block.depth >= 128; // shorter rows are as good as adjacent
  for (std::size_t row = 0; row < p.left.count; row += tile_rows) {
    const ResultTile tile{p.result + row * p.result_distance + block.first, p.result_distance,
                          least(p.left.count - row, tile_rows), block.tap + block.column > 0};
    sum_tile<groups>(tile, [&](auto& sums) {
      const float* panel = panels;
      for (std::size_t tap = block.tap; tap < block.tap + block.taps; ++tap) {
        const PixelRows pixels = rows_of(p, tap);
        const LeftRows own{pixels, row, block.column};
        if (fetch)
          fetch_rows(pixels, row + tile_rows, block.column, block.depth);
        for (std::size_t step = 0; step < block.depth; ++step, panel += group)
          sums.add_row([&](std::size_t r) { return own.rows[r][step]; }, panel, group_stride);
      }
    });
  }
}

/// Calls body(tap, taps, column, depth) for parts of the depth: of one tap, or several taps whose
/// depth is small.
template <class Body>
void for_depths(const PanelProduct& p, const Body& body) {
  const std::size_t together = p.depth < depth_block ? depth_block / p.depth : 1;
  for (std::size_t tap = 0; tap < p.taps; tap += together)
    for (std::size_t column = 0; column < p.depth; column += depth_block)
      body(tap, least(together, p.taps - tap), column, least(depth_block, p.depth - column));
}

/// Reads the larger of result and left matrix only once.
void multiply(const PanelProduct& p) {
  if (p.columns > p.taps * p.depth)
    for_groups(0, p.columns, [&]<std::size_t groups>(std::size_t first) {
      for_depths(p, [&](auto... part) { multiply_block<groups>(p, {first, part...}); });
    });
  else
    for_depths(p, [&](auto... part) {
      for_groups(0, p.columns, [&]<std::size_t groups>(std::size_t first) {
        multiply_block<groups>(p, {first, part...});
      });
    });
}

/// Packs dy's outputs in tiles of rows, (outputs / tile_rows, pixels, tile_rows). Copies more
/// values than a tile has where they exist; the next pixel overwrites those beyond the tile.
void pack_outputs(const PanelGradient& g, float* tiles, std::size_t tile_floats) {
  constexpr std::size_t copied = 8, fetched_ahead = 8;
  static_assert(tile_rows <= copied);
  const float* from = g.dy + g.first_output;
  for (std::size_t pixel = 0; pixel < g.x.count; ++pixel, from += g.dy_distance) {
    for (std::size_t output = 0; output < g.outputs; output += group)
      __builtin_prefetch(from + fetched_ahead * g.dy_distance + output);
    float* to = tiles + pixel * tile_rows;
    std::size_t output = 0;
    for (; output + copied <= g.outputs; output += tile_rows, to += tile_floats)
      __builtin_memcpy(to, from + output, copied * sizeof(float));
    for (; output < g.outputs; output += tile_rows, to += tile_floats)
      for (std::size_t r = 0; r < tile_rows; ++r)
        to[r] = output + r < g.outputs ? from[output + r] : 0.0f;
  }
}

/// dy's values for tiles of outputs, packed or where they lie.
class GradientOutputs {
public:
  GradientOutputs(const PanelGradient& g, float* scratch)
      : values_{g.dy + g.first_output}, distance_{g.dy_distance}, tile_floats_{tile_rows} {
    // Pixels that lie far apart share a few sets of the first-level cache.
    constexpr std::size_t near = 128;
    if (distance_ <= near)
      return;
    // One cache line more than needed: the stores of a pixel fall into different sets, too.
    tile_floats_ = g.x.count * tile_rows + group;
    pack_outputs(g, scratch, tile_floats_);
    values_ = scratch;
    distance_ = tile_rows;
  }

  /// Returns the values of the first pixel.
  const float* tile(std::size_t first_output) const {
    return values_ + first_output / tile_rows * tile_floats_;
  }
  /// From pixel to pixel.
  std::size_t distance() const { return distance_; }

private:
  const float* values_;
  std::size_t distance_, tile_floats_;
};

void gradient(const PanelGradient& g, float* scratch) {
  const GradientOutputs outputs{g, scratch};
  for_groups(0, g.inputs, [&]<std::size_t groups>(std::size_t first) {
    for (std::size_t row = 0; row < g.outputs; row += tile_rows) {
      const std::size_t rows = least(g.outputs - row, tile_rows);
      const ResultTile tile{g.sums + row * g.sums_distance + first, g.sums_distance, rows, g.add};
      sum_tile<groups>(tile, [&](auto& sums) {
        std::size_t own[tile_rows]; // outputs beyond the last repeat it
        for (std::size_t r = 0; r < tile_rows; ++r)
          own[r] = least(r, rows - 1);
        const float* left = outputs.tile(row);
        for (std::size_t pixel = 0; pixel < g.x.count; ++pixel, left += outputs.distance())
          sums.add_row([&](std::size_t r) { return left[own[r]]; },
                       g.x.rows[pixel] + g.first_input + first, group);
      });
    }
  });
}

} // namespace

void set_panel_products(Kernels& kernels) {
  kernels.panels = {pack, multiply, gradient};
}

} // namespace troupe::cpu::TROUPE_VARIANT
