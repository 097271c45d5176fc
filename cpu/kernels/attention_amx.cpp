// Causal attention in bf16, as attention.cpp has it, for processors that multiply tiles of bf16
// pairs: products are of bf16, as PyTorch's, with sums in f32; probabilities and their gradients
// are rounded where they are multiplied. Gradients of keys and values are added up turned, as there
// what is summed over, queries, lies in pairs without being turned.
#include "detail/attention_rows.hpp"
#include "detail/packing.hpp"
#include "detail/tile_products.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

constexpr std::size_t tile = 64; ///< queries

struct Sizes {
  std::size_t dim, pairs, keys; ///< pairs: of dim
  float scale;

  explicit Sizes(const AttentionShape& s)
      : dim{whole(s.head_dim, tile_block)}, pairs{dim / 2},
        keys{whole(s.first + s.sequence, tile_block)}, scale{score_scale(s)} {}

  /// Floats that TileScores take, and pairs that they are narrowed to, in rows and by two rows.
  std::size_t scores() const { return padded(tile) * keys / group; }
  std::size_t rows_of_pairs() const { return padded(tile) * keys / group / 2; }
  std::size_t pairs_of_rows() const { return padded(tile / 2) * keys / group; }
};

std::size_t attention_scratch(const AttentionShape& shape, bool backward) {
  const Sizes n{shape};
  return backward ? 3 * n.keys * n.pairs + 2 * n.keys * n.dim + 4 * tile * n.pairs + tile * n.dim +
                        2 * n.scores() + n.rows_of_pairs() + 2 * n.pairs_of_rows()
                  : 2 * n.keys * n.pairs + tile * n.pairs + tile * n.dim + n.scores() +
                        n.rows_of_pairs();
}

/// Scores of a tile or what becomes of them, in f32: (keys / 16, rows, 16), its groups padded().
struct TileScores {
  float* all;
  std::size_t rows, keys; ///< rows: also those behind the last query

  std::size_t distance() const { return padded(rows); }
  Scores row(std::size_t i) const { return {all + i * group, distance(), keys}; }
  void clear(std::size_t i) const {
    row(i).for_each([](float, std::size_t) { return 0.0f; });
  }
  /// A row as pairs of neighbouring keys: (keys / 32, rows, 16).
  void narrow(std::size_t i, Pair* to) const {
    const float* from = all + i * group;
    for (std::size_t key = 0; key < keys; key += 2 * group, from += 2 * distance()) {
      auto* const values = reinterpret_cast<Bf16*>(to + key / 2 / group * padded(rows) + i * group);
      store_vector(values, load_vector(from));
      store_vector(values + group, load_vector(from + distance()));
    }
  }
  /// Rows i and i + 1 as pairs: (keys / 16, rows / 2, 16).
  void narrow_two(std::size_t i, Pair* to) const {
    const float* from = all + i * group;
    for (std::size_t key = 0; key < keys; key += group, from += distance())
      store_pairs(to + key / group * padded(rows / 2) + i / 2 * group, load_vector(from),
                  load_vector(from + group));
  }
};

void attention(const AttentionShape& s, const AttentionHeads<Bf16>& a, float* scratch) {
  const Tiles tiles;
  const Sizes n{s};
  Memory memory{scratch};
  Pair* const keys = memory.pairs(n.keys * n.pairs);
  Pair* const values = memory.pairs(n.keys * n.pairs);
  Pair* const q = memory.pairs(tile * n.pairs);
  float* const y = memory.floats(tile * n.dim);
  float* const scores = memory.floats(n.scores());
  Pair* const p = memory.pairs(n.rows_of_pairs());
  const std::size_t places = s.first + s.sequence;
  pack_turned({a.k, s.kv_distance, places, s.head_dim}, n.keys, n.pairs, keys);
  pack_paired({a.v, s.kv_distance, places, s.head_dim}, n.keys, n.dim, values);
  for (std::size_t head = 0; head < s.heads; ++head)
    for (std::size_t query = 0; query < s.sequence; query += tile) {
      const Tile t{s, query, tile, tile_block};
      const std::size_t rows = whole(t.rows, tile_block), column = head * s.head_dim;
      const TileScores of{scores, rows, t.keys};
      float inverse[tile];
      pack_rows(t.of(a.q + column, s.q_distance, s.head_dim), rows, n.pairs, q);
      multiply_by_tiles({q, rows * group, keys, n.pairs * group, scores, of.distance()}, rows,
                        n.pairs, t.keys);
      for (std::size_t row = 0; row < rows; ++row) {
        if (row < t.rows) {
          const auto attended = of.row(row).attended(s.first + query + row + 1);
          const auto [most, sum] = attended.exponentiate(n.scale);
          inverse[row] = 1.0f / sum;
          if (a.log_sum_exp)
            a.log_sum_exp[(query + row) * s.row_heads + head] = most + __builtin_logf(sum);
        }
        of.narrow(row, p);
      }
      multiply_by_tiles({p, padded(rows), values, n.keys / 2 * group, y, rows * group}, rows,
                        t.keys / 2, n.dim);
      unpack(y, rows, t.of(a.y + column, s.y_distance, s.head_dim),
             [&](std::size_t row) { return inverse[row]; });
    }
}

/// The transpose of sums that lie turned, (rows / 16, columns, 16), times a factor.
void unpack_turned(const float* from, std::size_t columns, float factor,
                   const MatrixRows<Bf16>& to) {
  for (std::size_t row = 0; row < to.count; row += group)
    for (std::size_t c = 0; c < to.columns; c += group) {
      Vector square[lanes];
      for (std::size_t i = 0; i < group; ++i)
        square[i] = factor * load_vector(from + (row / group * columns + c + i) * group);
      transpose(square);
      for (std::size_t i = 0; i < group && row + i < to.count; ++i)
        store_some(to.first + (row + i) * to.distance, c, to.columns, square[i]);
    }
}

void attention_backward(const AttentionShape& s, const AttentionGradients<Bf16>& a,
                        float* scratch) {
  const Tiles tiles;
  const Sizes n{s};
  Memory memory{scratch};
  Pair* const keys = memory.pairs(n.keys * n.pairs);
  Pair* const keys_turned = memory.pairs(n.keys * n.pairs);
  Pair* const values_turned = memory.pairs(n.keys * n.pairs);
  float* const dk = memory.floats(n.keys * n.dim);
  float* const dv = memory.floats(n.keys * n.dim);
  Pair* const q = memory.pairs(tile * n.pairs);
  Pair* const q_turned = memory.pairs(tile * n.pairs);
  Pair* const dy = memory.pairs(tile * n.pairs);
  Pair* const dy_turned = memory.pairs(tile * n.pairs);
  float* const dq = memory.floats(tile * n.dim);
  float* const scores = memory.floats(n.scores());
  float* const gradients = memory.floats(n.scores());
  Pair* const p_paired = memory.pairs(n.pairs_of_rows());
  Pair* const ds = memory.pairs(n.rows_of_pairs());
  Pair* const ds_paired = memory.pairs(n.pairs_of_rows());
  const BfRows k{a.k, s.kv_distance, s.sequence, s.head_dim};
  pack_paired(k, n.keys, n.dim, keys);
  pack_turned(k, n.keys, n.pairs, keys_turned);
  pack_turned({a.v, s.kv_distance, s.sequence, s.head_dim}, n.keys, n.pairs, values_turned);
  for (std::size_t i = 0; i < n.keys * n.dim; ++i)
    dk[i] = dv[i] = 0.0f;
  for (std::size_t head = 0; head < s.heads; ++head)
    for (std::size_t query = 0; query < s.sequence; query += tile) {
      const Tile t{s, query, tile, tile_block};
      const std::size_t rows = whole(t.rows, tile_block), column = head * s.head_dim;
      const TileScores p{scores, rows, t.keys}, d{gradients, rows, t.keys};
      const auto qs = t.of(a.q + column, s.q_distance, s.head_dim);
      const auto dys = t.of(a.dy + column, s.y_distance, s.head_dim);
      const auto ys = t.of(a.y + column, s.y_distance, s.head_dim);
      pack_rows(qs, rows, n.pairs, q);
      pack_rows(dys, rows, n.pairs, dy);
      pack_paired_turned(qs, rows, n.dim, q_turned);
      pack_paired_turned(dys, rows, n.dim, dy_turned);
      multiply_by_tiles({q, rows * group, keys_turned, n.pairs * group, scores, p.distance()}, rows,
                        n.pairs, t.keys);
      multiply_by_tiles({dy, rows * group, values_turned, n.pairs * group, gradients, d.distance()},
                        rows, n.pairs, t.keys);
      for (std::size_t row = 0; row < rows; ++row) {
        if (row < t.rows) {
          const float total = a.log_sum_exp[(query + row) * s.row_heads + head];
          const auto attended = p.row(row).attended(query + row + 1);
          attended.for_each(
              [&](float score, std::size_t) { return exponential(n.scale * score - total); });
          const float mean =
              row_product(dys.first + row * dys.distance, ys.first + row * ys.distance, s.head_dim);
          multiply_differences(d.row(row).attended(query + row + 1), attended, mean);
        } else {
          p.clear(row);
          d.clear(row);
        }
        d.narrow(row, ds);
        if (row % 2 == 1) {
          p.narrow_two(row - 1, p_paired);
          d.narrow_two(row - 1, ds_paired);
        }
      }
      const std::size_t paired = padded(rows / 2);
      multiply_by_tiles<true>({dy_turned, n.dim * group, p_paired, paired, dv, n.dim * group},
                              n.dim, rows / 2, t.keys);
      multiply_by_tiles<true>({q_turned, n.dim * group, ds_paired, paired, dk, n.dim * group},
                              n.dim, rows / 2, t.keys);
      multiply_by_tiles({ds, padded(rows), keys, n.keys / 2 * group, dq, rows * group}, rows,
                        t.keys / 2, n.dim);
      unpack(dq, rows, t.of(a.dq + column, s.q_distance, s.head_dim),
             [&](std::size_t) { return n.scale; });
    }
  unpack_turned(dk, n.dim, n.scale, {a.dk, s.kv_distance, s.sequence, s.head_dim});
  unpack_turned(dv, n.dim, 1.0f, {a.dv, s.kv_distance, s.sequence, s.head_dim});
}

} // namespace

void set_attention_amx(Kernels& kernels) {
  kernels.bf16.attention_scratch = attention_scratch;
  kernels.bf16.attention = attention;
  kernels.bf16.attention_backward = attention_backward;
}

} // namespace troupe::cpu::TROUPE_VARIANT
