// Causal attention in bf16, as in attention.cpp, for processors that multiply tiles of bf16 pairs.
// Products are of bf16, like PyTorch's, with sums in f32. Probabilities and their gradients are
// rounded for products. Gradients of keys and values are summed transposed: there the sum runs over
// queries, which are already in pairs without a transposition.
#include "cpu/kernels/detail/attention_rows.hpp"
#include "cpu/kernels/detail/packing.hpp"
#include "cpu/kernels/detail/tile_products.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

constexpr std::size_t tile = 64; ///< queries

struct Sizes {
  std::size_t dim, pairs, keys; ///< pairs: of dim
  float scale;

  explicit Sizes(const AttentionShape& s)
      : dim{whole(s.head_dim, tile_block)}, pairs{dim / 2},
        keys{whole(s.first + s.sequence, tile_block)}, scale{score_scale(s)} {}

  /// Sizes of TileScores in floats, and of its two bf16 forms in pairs: pairs of neighbouring keys,
  /// and pairs of rows.
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

/// Scores of a tile or values derived from them, in f32: (keys / 16, rows, 16), groups padded().
struct TileScores {
  float* all;
  std::size_t rows, keys; ///< rows includes those after the last query

  std::size_t distance() const { return padded(rows); }
  Scores row(std::size_t i) const { return {all + i * group, distance(), keys}; }
  /// Address of a row's values of 16 keys among pairs of neighbouring keys: (keys / 32, rows, 16).
  Bf16* in_rows(Pair* to, std::size_t i, std::size_t key) const {
    return reinterpret_cast<Bf16*>(to + key / two_groups * padded(rows) + i * group) +
           key % two_groups;
  }
  /// Address of rows i and i + 1 among pairs of rows: (keys / 16, rows / 2, 16).
  Pair* in_pairs(Pair* to, std::size_t i, std::size_t key) const {
    return to + key / group * padded(rows / 2) + i / 2 * group;
  }
};

/// Writes e^(scale * score - most) as bf16 for a row's first `attended` scores, where `most` is the
/// largest scale * score.
ExponentialSum exponentiate(const TileScores& scores, std::size_t row, std::size_t attended,
                            float scale, Pair* to) {
  const Scores of = scores.row(row).attended(attended);
  const float most = of.largest();
  Vector sums{};
  for (std::size_t key = 0; key < scores.keys; key += group) {
    Vector e{};
    if (key < of.keys)
      e = exponential(scale * (load_vector(of.first + key / group * of.distance) - most));
    sums += e;
    store_vector(scores.in_rows(to, row, key), e);
  }
  return {scale * most, folded(sums, sum_of)};
}

void clear(const TileScores& scores, std::size_t row, Pair* to) {
  for (std::size_t key = 0; key < scores.keys; key += group)
    store_vector(scores.in_rows(to, row, key), Vector{});
}

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
      for (std::size_t row = 0; row < t.rows; ++row) {
        const auto [most, sum] = exponentiate(of, row, s.first + query + row + 1, n.scale, p);
        inverse[row] = 1.0f / sum;
        if (a.log_sum_exp)
          a.log_sum_exp[head * s.sequence + query + row] = most + __builtin_logf(sum);
      }
      for (std::size_t row = t.rows; row < rows; ++row)
        clear(of, row, p);
      multiply_by_tiles({p, padded(rows), values, n.keys / 2 * group, y, rows * group}, rows,
                        t.keys / 2, n.dim);
      unpack(y, rows, t.of(a.y + column, s.y_distance, s.head_dim),
             [&](std::size_t row) { return inverse[row]; });
    }
}

/// Writes the transpose of transposed sums, (rows / 16, columns, 16), times a factor.
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

/// A query in backward: its scores, and the gradients of its probabilities so far.
struct Query {
  Scores scores{}, gradients{}; ///< empty for rows after the last query
  float scale = 0, total = 0, mean = 0;

  struct Results {
    Vector p{}, gradient{};
  };
  /// Returns the query's probabilities of 16 keys and the gradients of their scores.
  Results at(std::size_t key) const {
    if (key >= scores.keys)
      return {};
    const std::size_t place = key / group * scores.distance;
    const Vector p = exponential(scale * load_vector(scores.first + place) - total);
    return {p, p * (load_vector(gradients.first + place) - mean)};
  }
};

/// Memory of bf16 operands of products with queries, keys and gradients: probabilities as pairs of
/// rows, gradients of scores in both forms.
struct NarrowedScores {
  Pair *p_paired, *ds, *ds_paired;

  /// Writes the values of queries i and i + 1 of a tile.
  void write(const TileScores& of, std::size_t i, const Query& first, const Query& second) const {
    for (std::size_t key = 0; key < of.keys; key += group) {
      const auto a = first.at(key), b = second.at(key);
      store_pairs(of.in_pairs(p_paired, i, key), a.p, b.p);
      store_pairs(of.in_pairs(ds_paired, i, key), a.gradient, b.gradient);
      store_vector(of.in_rows(ds, i, key), a.gradient);
      store_vector(of.in_rows(ds, i + 1, key), b.gradient);
    }
  }
};

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
  const NarrowedScores narrowed{.p_paired = memory.pairs(n.pairs_of_rows()),
                                .ds = memory.pairs(n.rows_of_pairs()),
                                .ds_paired = memory.pairs(n.pairs_of_rows())};
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
      const auto of_row = [&](std::size_t row) -> Query {
        if (row >= t.rows)
          return {};
        return {.scores = p.row(row).attended(query + row + 1),
                .gradients = d.row(row),
                .scale = n.scale,
                .total = a.log_sum_exp[head * s.sequence + query + row],
                .mean = row_product(dys.first + row * dys.distance, ys.first + row * ys.distance,
                                    s.head_dim)};
      };
      for (std::size_t row = 0; row < rows; row += 2)
        narrowed.write(p, row, of_row(row), of_row(row + 1));
      const std::size_t paired = padded(rows / 2);
      multiply_by_tiles<true>(
          {dy_turned, n.dim * group, narrowed.p_paired, paired, dv, n.dim * group}, n.dim, rows / 2,
          t.keys);
      multiply_by_tiles<true>(
          {q_turned, n.dim * group, narrowed.ds_paired, paired, dk, n.dim * group}, n.dim, rows / 2,
          t.keys);
      multiply_by_tiles({narrowed.ds, padded(rows), keys, n.keys / 2 * group, dq, rows * group},
                        rows, t.keys / 2, n.dim);
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
