// Causal attention of the heads that share keys and values, in memory linear in the sequence, not
// quadratic (Dao et al., "FlashAttention", 2022). All scores of one tile of queries exist at a
// time, in forward, and again in backward. Products are those of small_products.hpp, in f32. There
// may be more positions of keys and values than of queries, in another type: caches.
#include "cpu/kernels/detail/attention_rows.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

constexpr std::size_t tile = 32; ///< queries

/// Packs the rows as a matrix of `rows` rows in groups of columns, times a factor. Pads with zeros.
template <class T>
void pack(const MatrixRows<const T>& from, std::size_t rows, float factor, float* to) {
  from.for_groups(rows, [&](const T* values, std::size_t there, std::size_t, std::size_t at) {
    if (there == group)
      for (std::size_t j = 0; j < group; j += lanes)
        store_vector(to + at + j, factor * load_lanes(values + j));
    else
      for (std::size_t j = 0; j < group; ++j)
        to[at + j] = j < there ? factor * load(values, j) : 0.0f;
  });
}

/// Packs the transpose of as many rows and columns as a register has lanes.
template <class T>
void pack_square(const T* from, std::size_t distance, float* to) {
  Vector square[lanes];
  for (std::size_t row = 0; row < lanes; ++row)
    square[row] = load_lanes(from + row * distance);
  transpose(square);
  for (std::size_t c = 0; c < lanes; ++c)
    store_vector(to + c * group, square[c]);
}

/// Packs the transpose, with `columns` columns.
template <class T>
void pack_transposed(const MatrixRows<const T>& from, std::size_t columns, float* to) {
  const std::size_t steps = whole(from.columns, group);
  for (std::size_t row = 0; row < columns; row += lanes)
    for (std::size_t c = 0; c < steps; c += lanes) {
      const T* const first = from.first + row * from.distance + c;
      float* const square = to + row / group * steps * group + c * group + row % group;
      if (row + lanes <= from.count && c + lanes <= from.columns)
        pack_square(first, from.distance, square);
      else
        for (std::size_t i = 0; i < lanes; ++i)
          for (std::size_t j = 0; j < lanes; ++j)
            square[i * group + j] = row + j < from.count && c + i < from.columns
                                        ? load(first, j * from.distance + i)
                                        : 0.0f;
    }
}

/// Sizes, rounded up to whole groups.
struct Sizes {
  std::size_t dim, keys;
  float scale;

  explicit Sizes(const AttentionShape& s)
      : dim{whole(s.head_dim, group)}, keys{whole(s.first + s.sequence, group)}, scale{score_scale(
                                                                                     s)} {}
};

std::size_t attention_scratch(const AttentionShape& shape, bool backward) {
  const Sizes n{shape};
  const std::size_t scores = padded(tile) * n.keys / group;
  return backward ? 5 * n.keys * n.dim + 3 * tile * n.dim + 2 * scores
                  : 2 * n.keys * n.dim + 2 * tile * n.dim + scores;
}

/// The scores of a tile's query.
Scores scores_of(float* all, std::size_t row, const Tile& t) {
  return {all + row * group, padded(t.rows), t.keys};
}

template <class T, class Cached>
void attention(const AttentionShape& s, const AttentionHeads<T, Cached>& a, float* scratch) {
  const Sizes n{s};
  Memory memory{scratch};
  float* const keys = memory.floats(n.keys * n.dim);
  float* const values = memory.floats(n.keys * n.dim);
  float* const q = memory.floats(tile * n.dim);
  float* const y = memory.floats(tile * n.dim);
  float* const scores = memory.floats(padded(tile) * n.keys / group);
  const std::size_t places = s.first + s.sequence;
  pack_transposed<Cached>({a.k, s.kv_distance, places, s.head_dim}, n.keys, keys);
  pack<Cached>({a.v, s.kv_distance, places, s.head_dim}, n.keys, 1.0f, values);
  for (std::size_t head = 0; head < s.heads; ++head)
    for (std::size_t query = 0; query < s.sequence; query += tile) {
      const Tile t{s, query, tile, group};
      const std::size_t distance = t.rows * group, apart = padded(t.rows);
      const std::size_t column = head * s.head_dim;
      float inverse[tile];
      pack<T>(t.of(a.q + column, s.q_distance, s.head_dim), t.rows, n.scale, q);
      multiply(Product<float>{q, distance, keys, n.dim * group, scores, apart}, t.rows, n.dim,
               t.keys);
      for (std::size_t row = 0; row < t.rows; ++row) {
        const auto attended = scores_of(scores, row, t).attended(s.first + query + row + 1);
        const auto [most, sum] = attended.exponentiate();
        inverse[row] = 1.0f / sum;
        if (a.log_sum_exp)
          a.log_sum_exp[head * s.sequence + query + row] = most + __builtin_logf(sum);
      }
      multiply(Product<float>{scores, apart, values, n.keys * group, y, distance}, t.rows, t.keys,
               n.dim);
      unpack(y, t.rows, t.of(a.y + column, s.y_distance, s.head_dim),
             [&](std::size_t row) { return inverse[row]; });
    }
}

// Scores become probabilities p, and products of dy and values become their gradients p * (dp - dy
// * y).
template <class T>
void attention_backward(const AttentionShape& s, const AttentionGradients<T>& a, float* scratch) {
  const Sizes n{s};
  Memory memory{scratch};
  float* const keys = memory.floats(n.keys * n.dim);
  float* const keys_turned = memory.floats(n.keys * n.dim);
  float* const values_turned = memory.floats(n.keys * n.dim);
  float* const dk = memory.floats(n.keys * n.dim);
  float* const dv = memory.floats(n.keys * n.dim);
  float* const q = memory.floats(tile * n.dim);
  float* const dy = memory.floats(tile * n.dim);
  float* const dq = memory.floats(tile * n.dim);
  float* const p = memory.floats(padded(tile) * n.keys / group);
  float* const dp = memory.floats(padded(tile) * n.keys / group);
  const MatrixRows<const T> k{a.k, s.kv_distance, s.sequence, s.head_dim};
  pack(k, n.keys, 1.0f, keys);
  pack_transposed(k, n.keys, keys_turned);
  pack_transposed<T>({a.v, s.kv_distance, s.sequence, s.head_dim}, n.keys, values_turned);
  for (std::size_t i = 0; i < n.keys * n.dim; ++i)
    dk[i] = dv[i] = 0.0f;
  for (std::size_t head = 0; head < s.heads; ++head)
    for (std::size_t query = 0; query < s.sequence; query += tile) {
      const Tile t{s, query, tile, group};
      const std::size_t distance = t.rows * group, apart = padded(t.rows);
      const std::size_t column = head * s.head_dim;
      const auto dys = t.of(a.dy + column, s.y_distance, s.head_dim);
      const auto ys = t.of(a.y + column, s.y_distance, s.head_dim);
      pack<T>(t.of(a.q + column, s.q_distance, s.head_dim), t.rows, n.scale, q);
      pack<T>(dys, t.rows, 1.0f, dy);
      multiply(Product<float>{q, distance, keys_turned, n.dim * group, p, apart}, t.rows, n.dim,
               t.keys);
      multiply(Product<float>{dy, distance, values_turned, n.dim * group, dp, apart}, t.rows, n.dim,
               t.keys);
      for (std::size_t row = 0; row < t.rows; ++row) {
        const auto probabilities = scores_of(p, row, t).attended(query + row + 1);
        const float total = a.log_sum_exp[head * s.sequence + query + row];
        probabilities.for_each([&](float score) { return exponential(score - total); });
        const float mean =
            row_product(dys.first + row * dys.distance, ys.first + row * ys.distance, s.head_dim);
        multiply_differences(scores_of(dp, row, t).attended(query + row + 1), probabilities, mean);
      }
      add_transposed({p, apart, dy, distance, dv, n.keys * group}, t.keys, t.rows, n.dim);
      add_transposed({dp, apart, q, distance, dk, n.keys * group}, t.keys, t.rows, n.dim);
      multiply(Product<float>{dp, apart, keys, n.keys * group, dq, distance}, t.rows, t.keys,
               n.dim);
      unpack(dq, t.rows, t.of(a.dq + column, s.q_distance, s.head_dim),
             [&](std::size_t) { return n.scale; });
    }
  const auto once = [](std::size_t) { return 1.0f; };
  unpack(dk, n.keys, MatrixRows<T>{a.dk, s.kv_distance, s.sequence, s.head_dim}, once);
  unpack(dv, n.keys, MatrixRows<T>{a.dv, s.kv_distance, s.sequence, s.head_dim}, once);
}

std::size_t attention_row_scratch(std::size_t head_dim, std::size_t keys) {
  return 2 * head_dim + whole(keys, group);
}

inline void add_times(float* sum, float factor, const float* values, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i)
    sum[i] += factor * values[i];
}

// Reads keys and values once and in place: packing them would gain nothing.
template <class T>
void attention_row(const AttentionRow<T>& a, float* scratch) {
  Memory memory{scratch};
  float* const q = memory.floats(a.head_dim);
  float* const y = memory.floats(a.head_dim);
  const std::size_t keys = whole(a.keys, group);
  const Scores scores{memory.floats(keys), group, keys};
  const float scale = 1.0f / __builtin_sqrtf(static_cast<float>(a.head_dim));
  for (std::size_t head = 0; head < a.heads; ++head) {
    for (std::size_t c = 0; c < a.head_dim; ++c) {
      q[c] = scale * load(a.q, head * a.head_dim + c);
      y[c] = 0;
    }
    for (std::size_t key = 0; key < a.keys; ++key)
      scores.first[key] = row_product(q, a.k + key * a.head_dim, a.head_dim);
    const float inverse = 1.0f / scores.attended(a.keys).exponentiate().sum;
    for (std::size_t key = 0; key < a.keys; ++key)
      add_times(y, scores.first[key], a.v + key * a.head_dim, a.head_dim);
    for (std::size_t c = 0; c < a.head_dim; ++c)
      store(a.y, head * a.head_dim + c, inverse * y[c]);
  }
}

} // namespace

void set_attention(Kernels& kernels) {
  kernels.cached_attention_scratch = attention_scratch;
  kernels.attention_row_scratch = attention_row_scratch;
  kernels.for_types([]<class T>(TypedKernels<T>& typed) {
    typed.attention_scratch = attention_scratch;
    typed.attention = attention<T, T>;
    typed.attention_backward = attention_backward<T>;
    typed.cached_attention = attention<T, float>;
    typed.attention_row = attention_row<T>;
  });
}

} // namespace troupe::cpu::TROUPE_VARIANT
