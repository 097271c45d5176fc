// Causal attention of the heads that share keys and values, in memory that grows with the sequence
// and not with its square (Dao et al., "FlashAttention", 2022): a tile of queries at a time has all
// its scores, forward, and again backward. Products are those of small_products.hpp, in f32. Keys
// and values may be of more places than queries are, and of another type: caches.
#include "detail/exponential.hpp"
#include "detail/small_products.hpp"
#include "detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

constexpr std::size_t tile = 32; ///< queries

inline std::size_t whole_groups(std::size_t n) {
  return (n + group - 1) / group * group;
}

/// Rows of a head, `distance` elements from one to the next.
template <class T>
struct HeadRows {
  T* first;
  std::size_t distance, count, columns;

  /// Calls visit(row's elements from c on, how many) for each group of columns, and all its rows.
  template <class Visit>
  void for_groups(std::size_t rows, Visit visit) const {
    for (std::size_t c = 0; c < columns; c += group)
      for (std::size_t row = 0; row < rows; ++row)
        visit(first + row * distance + c, row < count ? smaller_group(columns - c) : 0, row);
  }
  static std::size_t smaller_group(std::size_t n) { return n < group ? n : group; }
};

/// As a matrix of so many rows in groups of columns, times a factor, with zeros behind its ends.
template <class T>
void pack(const HeadRows<const T>& from, std::size_t rows, float factor, float* to) {
  from.for_groups(rows, [&](const T* values, std::size_t there, std::size_t) {
    if (there == group)
      for (std::size_t j = 0; j < group; ++j)
        to[j] = factor * load(values, j);
    else
      for (std::size_t j = 0; j < group; ++j)
        to[j] = j < there ? factor * load(values, j) : 0.0f;
    to += group;
  });
}

/// As the transpose, with so many columns.
template <class T>
void pack_transposed(const HeadRows<const T>& from, std::size_t columns, float* to) {
  const std::size_t steps = whole_groups(from.columns);
  for (std::size_t g = 0; g < columns; g += group, to += steps * group) {
    const bool whole = g + group <= from.count;
    const T* const first = from.first + g * from.distance;
    for (std::size_t c = 0; c < steps; ++c)
      for (std::size_t j = 0; j < group; ++j)
        to[c * group + j] = c < from.columns && (whole || g + j < from.count)
                                ? load(first, j * from.distance + c)
                                : 0.0f;
  }
}

/// Writes the rows of a matrix of `rows` in groups, each times factor(row).
template <class T, class Factor>
void unpack(const float* from, std::size_t rows, const HeadRows<T>& to, Factor factor) {
  to.for_groups(rows, [&](T* values, std::size_t there, std::size_t row) {
    const float times = there > 0 ? factor(row) : 0.0f;
    if (there == group)
      for (std::size_t j = 0; j < group; ++j)
        store(values, j, times * from[j]);
    else
      for (std::size_t j = 0; j < there; ++j)
        store(values, j, times * from[j]);
    from += group;
  });
}

/// A row of scores in groups, which are `distance` apart.
struct Scores {
  float* first;
  std::size_t distance, keys;

  template <class Change>
  void for_each(Change change) const {
    for (std::size_t key = 0; key < keys; key += group) {
      float* const values = first + key / group * distance;
      for (std::size_t j = 0; j < group; ++j)
        values[j] = change(values[j], j);
    }
  }
  /// What is not attended to gets a value that no exponential is left of.
  void hide_from(std::size_t key) const {
    for (; key < keys; ++key)
      first[key / group * distance + key % group] = -1e30f;
  }
  /// Makes e^(score - most) of each.
  ExponentialSum exponentiate() const {
    float most[group], sums[group] = {};
    for (float& value : most)
      value = -1e30f;
    for_each([&](float score, std::size_t j) {
      most[j] = score > most[j] ? score : most[j];
      return score;
    });
    ExponentialSum result{most[0], 0};
    for (const float value : most)
      result.most = value > result.most ? value : result.most;
    for_each([&](float score, std::size_t j) {
      const float e = exponential(score - result.most);
      sums[j] += e;
      return e;
    });
    for (const float value : sums)
      result.sum += value;
    return result;
  }
};

/// Sizes, rounded up to whole groups, and the place where a call's memory is handed out.
struct Sizes {
  std::size_t dim, keys;
  float scale;

  explicit Sizes(const AttentionShape& s)
      : dim{whole_groups(s.head_dim)}, keys{whole_groups(s.first + s.sequence)},
        scale{1.0f / __builtin_sqrtf(static_cast<float>(s.head_dim))} {}
};

inline float* take(float*& memory, std::size_t floats) {
  float* const taken = memory;
  memory += floats;
  return taken;
}

std::size_t attention_scratch(const AttentionShape& shape, bool backward) {
  const Sizes n{shape};
  return backward ? 5 * n.keys * n.dim + 3 * tile * n.dim + 2 * tile * n.keys
                  : 2 * n.keys * n.dim + 2 * tile * n.dim + tile * n.keys;
}

/// Queries of a tile, and the keys that any of them attends to.
struct Tile {
  std::size_t first, rows, keys;

  Tile(const AttentionShape& s, std::size_t query)
      : first{query}, rows{s.sequence - query < tile ? s.sequence - query : tile},
        keys{whole_groups(s.first + query + rows)} {}
  template <class T>
  HeadRows<T> of(T* head, std::size_t distance, std::size_t columns) const {
    return {head + first * distance, distance, rows, columns};
  }
  Scores scores(float* all, std::size_t row) const {
    return {all + row * group, rows * group, keys};
  }
};

template <class T, class Cached>
void attention(const AttentionShape& s, const AttentionHeads<T, Cached>& a, float* memory) {
  const Sizes n{s};
  float* const keys = take(memory, n.keys * n.dim);
  float* const values = take(memory, n.keys * n.dim);
  float* const q = take(memory, tile * n.dim);
  float* const y = take(memory, tile * n.dim);
  float* const scores = take(memory, tile * n.keys);
  const std::size_t places = s.first + s.sequence;
  pack_transposed<Cached>({a.k, s.kv_distance, places, s.head_dim}, n.keys, keys);
  pack<Cached>({a.v, s.kv_distance, places, s.head_dim}, n.keys, 1.0f, values);
  for (std::size_t head = 0; head < s.heads; ++head)
    for (std::size_t query = 0; query < s.sequence; query += tile) {
      const Tile t{s, query};
      const std::size_t distance = t.rows * group, column = head * s.head_dim;
      float inverse[tile];
      pack<T>(t.of(a.q + column, s.q_distance, s.head_dim), t.rows, n.scale, q);
      multiply(Product<float>{q, distance, keys, n.dim * group, scores, distance}, t.rows, n.dim,
               t.keys);
      for (std::size_t row = 0; row < t.rows; ++row) {
        const auto of_row = t.scores(scores, row);
        of_row.hide_from(s.first + query + row + 1);
        const auto [most, sum] = of_row.exponentiate();
        inverse[row] = 1.0f / sum;
        if (a.log_sum_exp)
          a.log_sum_exp[(query + row) * s.row_heads + head] = most + __builtin_logf(sum);
      }
      multiply(Product<float>{scores, distance, values, n.keys * group, y, distance}, t.rows,
               t.keys, n.dim);
      unpack(y, t.rows, t.of(a.y + column, s.y_distance, s.head_dim),
             [&](std::size_t row) { return inverse[row]; });
    }
}

/// The sum of the products of two rows of a head.
template <class A, class B>
float row_product(const A* a, const B* b, std::size_t columns) {
  float sums[group] = {}, sum = 0;
  std::size_t c = 0;
  for (; c + group <= columns; c += group)
    for (std::size_t j = 0; j < group; ++j)
      sums[j] += load(a, c + j) * load(b, c + j);
  for (; c < columns; ++c)
    sum += load(a, c) * load(b, c);
  for (const float value : sums)
    sum += value;
  return sum;
}

/// Each gradient of a probability becomes p * (gradient - mean), the gradient of its score.
inline void multiply_differences(const Scores& gradients, const Scores& p, float mean) {
  for (std::size_t g = 0; g < gradients.keys / group; ++g) {
    float* const gradient = gradients.first + g * gradients.distance;
    const float* const probability = p.first + g * p.distance;
    for (std::size_t j = 0; j < group; ++j)
      gradient[j] = probability[j] * (gradient[j] - mean);
  }
}

// Scores become probabilities p, and products of dy and values their gradients p * (dp - dy * y).
template <class T>
void attention_backward(const AttentionShape& s, const AttentionGradients<T>& a, float* memory) {
  const Sizes n{s};
  float* const keys = take(memory, n.keys * n.dim);
  float* const keys_turned = take(memory, n.keys * n.dim);
  float* const values_turned = take(memory, n.keys * n.dim);
  float* const dk = take(memory, n.keys * n.dim);
  float* const dv = take(memory, n.keys * n.dim);
  float* const q = take(memory, tile * n.dim);
  float* const dy = take(memory, tile * n.dim);
  float* const dq = take(memory, tile * n.dim);
  float* const p = take(memory, tile * n.keys);
  float* const dp = take(memory, tile * n.keys);
  const HeadRows<const T> k{a.k, s.kv_distance, s.sequence, s.head_dim};
  pack(k, n.keys, 1.0f, keys);
  pack_transposed(k, n.keys, keys_turned);
  pack_transposed<T>({a.v, s.kv_distance, s.sequence, s.head_dim}, n.keys, values_turned);
  for (std::size_t i = 0; i < n.keys * n.dim; ++i)
    dk[i] = dv[i] = 0.0f;
  for (std::size_t head = 0; head < s.heads; ++head)
    for (std::size_t query = 0; query < s.sequence; query += tile) {
      const Tile t{s, query};
      const std::size_t distance = t.rows * group, column = head * s.head_dim;
      const auto dys = t.of(a.dy + column, s.y_distance, s.head_dim);
      const auto ys = t.of(a.y + column, s.y_distance, s.head_dim);
      pack<T>(t.of(a.q + column, s.q_distance, s.head_dim), t.rows, n.scale, q);
      pack<T>(dys, t.rows, 1.0f, dy);
      multiply(Product<float>{q, distance, keys_turned, n.dim * group, p, distance}, t.rows, n.dim,
               t.keys);
      multiply(Product<float>{dy, distance, values_turned, n.dim * group, dp, distance}, t.rows,
               n.dim, t.keys);
      for (std::size_t row = 0; row < t.rows; ++row) {
        const auto probabilities = t.scores(p, row);
        const float total = a.log_sum_exp[(query + row) * s.row_heads + head];
        probabilities.hide_from(query + row + 1);
        probabilities.for_each(
            [&](float score, std::size_t) { return exponential(score - total); });
        const float mean =
            row_product(dys.first + row * dys.distance, ys.first + row * ys.distance, s.head_dim);
        multiply_differences(t.scores(dp, row), probabilities, mean);
      }
      add_transposed({p, distance, dy, distance, dv, n.keys * group}, t.keys, t.rows, n.dim);
      add_transposed({dp, distance, q, distance, dk, n.keys * group}, t.keys, t.rows, n.dim);
      multiply(Product<float>{dp, distance, keys, n.keys * group, dq, distance}, t.rows, t.keys,
               n.dim);
      unpack(dq, t.rows, t.of(a.dq + column, s.q_distance, s.head_dim),
             [&](std::size_t) { return n.scale; });
    }
  const auto once = [](std::size_t) { return 1.0f; };
  unpack(dk, n.keys, HeadRows<T>{a.dk, s.kv_distance, s.sequence, s.head_dim}, once);
  unpack(dv, n.keys, HeadRows<T>{a.dv, s.kv_distance, s.sequence, s.head_dim}, once);
}

std::size_t attention_row_scratch(std::size_t head_dim, std::size_t keys) {
  return 2 * head_dim + whole_groups(keys);
}

inline void add_times(float* sum, float factor, const float* values, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i)
    sum[i] += factor * values[i];
}

// Keys and values are read once and as they lie: there is nothing to win by packing them.
template <class T>
void attention_row(const AttentionRow<T>& a, float* memory) {
  float* const q = take(memory, a.head_dim);
  float* const y = take(memory, a.head_dim);
  const Scores scores{memory, group, whole_groups(a.keys)};
  const float scale = 1.0f / __builtin_sqrtf(static_cast<float>(a.head_dim));
  for (std::size_t head = 0; head < a.heads; ++head) {
    for (std::size_t c = 0; c < a.head_dim; ++c) {
      q[c] = scale * load(a.q, head * a.head_dim + c);
      y[c] = 0;
    }
    for (std::size_t key = 0; key < a.keys; ++key)
      scores.first[key] = row_product(q, a.k + key * a.head_dim, a.head_dim);
    scores.hide_from(a.keys);
    const float inverse = 1.0f / scores.exponentiate().sum;
    for (std::size_t key = 0; key < a.keys; ++key)
      add_times(y, scores.first[key], a.v + key * a.head_dim, a.head_dim);
    for (std::size_t c = 0; c < a.head_dim; ++c)
      store(a.y, head * a.head_dim + c, inverse * y[c]);
  }
}

template <class T>
void set(TypedKernels<T>& kernels) {
  kernels.attention = attention<T, T>;
  kernels.attention_backward = attention_backward<T>;
  kernels.cached_attention = attention<T, float>;
  kernels.attention_row = attention_row<T>;
}

} // namespace

void set_attention(Kernels& kernels) {
  kernels.attention_scratch = attention_scratch;
  kernels.attention_row_scratch = attention_row_scratch;
  set(kernels.f32);
  set(kernels.bf16);
  set(kernels.f16);
}

} // namespace troupe::cpu::TROUPE_VARIANT
