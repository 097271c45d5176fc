#include "core/fail.hpp"
#include "cpu/interpreter/ops.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::cpu {

namespace {

/// Columns of a tensor (N, stride) that are q, k or v, or a gradient of one.
struct HeadRows {
  Values* values;
  std::size_t stride, first;

  double* row(std::size_t n, std::size_t head, std::size_t head_dim) const {
    return values->data() + n * stride + first + head * head_dim;
  }
};

struct AttentionInputs {
  HeadRows q, k, v;
};

/// Accepts three tensors, or one with their columns side by side.
AttentionInputs attention_inputs(const AttentionAttributes& a, std::vector<Values>& tensors) {
  const auto q = static_cast<std::size_t>(a.heads * a.head_dim),
             kv = static_cast<std::size_t>(a.kv_heads * a.head_dim);
  if (tensors.size() == 3)
    return {{&tensors[0], q, 0}, {&tensors[1], kv, 0}, {&tensors[2], kv, 0}};
  return {{&tensors[0], q + 2 * kv, 0},
          {&tensors[0], q + 2 * kv, q},
          {&tensors[0], q + 2 * kv, q + kv}};
}

double dot(const double* a, const double* b, std::size_t elements) {
  double sum = 0;
  for (std::size_t i = 0; i < elements; ++i)
    sum += a[i] * b[i];
  return sum;
}

void add_times(double* sum, double factor, const double* values, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i)
    sum[i] += factor * values[i];
}

/// One query: its row, the first row that it attends to, and its heads.
struct Query {
  std::size_t row, first, head, kv_head, head_dim;
  std::size_t scalar; ///< index of its scalar in (sequences, heads, sequence)
  double scale;

  double score(const AttentionInputs& from, std::size_t key) const {
    return scale *
           dot(from.q.row(row, head, head_dim), from.k.row(key, kv_head, head_dim), head_dim);
  }
};

template <class Visit>
void for_each_query(const AttentionAttributes& a, std::size_t rows, Visit visit) {
  const auto sequence = static_cast<std::size_t>(a.sequence),
             heads = static_cast<std::size_t>(a.heads),
             shared = static_cast<std::size_t>(a.heads / a.kv_heads);
  const double scale = 1 / std::sqrt(static_cast<double>(a.head_dim));
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t head = 0; head < heads; ++head)
      visit(Query{row, row / sequence * sequence, head, head / shared,
                  static_cast<std::size_t>(a.head_dim),
                  (row / sequence * heads + head) * sequence + row % sequence, scale});
}

/// Adds the mean of values, weighted by the softmax of scores, to y; returns the logarithm of the
/// softmax's denominator.
template <class ValueOf>
double attend(const Values& scores, double* y, std::size_t head_dim, ValueOf value_of) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores)
    sum += std::exp(score - most);
  const double log_sum_exp = most + std::log(sum);
  for (std::size_t i = 0; i < scores.size(); ++i)
    add_times(y, std::exp(scores[i] - log_sum_exp), value_of(i), head_dim);
  return log_sum_exp;
}

std::vector<Values> read_tensors(const Operands& operands, std::size_t first, std::size_t count) {
  std::vector<Values> tensors;
  for (std::size_t i = 0; i < count; ++i)
    tensors.push_back(operands.read(first + i));
  return tensors;
}

/// Keys or values of all positions, by sequence and head.
struct CachedRows {
  Values values;
  std::size_t kv_heads, sequence, places, head_dim;

  double* at(std::size_t row, std::size_t kv_head, std::size_t place) {
    return &values[((row / sequence * kv_heads + kv_head) * places + place) * head_dim];
  }
  /// Copies rows of sequences whose first row has position `first`.
  void take(const HeadRows& from, std::size_t rows, std::size_t first) {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t head = 0; head < kv_heads; ++head)
        std::copy_n(from.row(row, head, head_dim), head_dim, at(row, head, first + row % sequence));
  }
};

} // namespace

Status causal_attention(const Operands& operands) {
  const auto& a = operands.attributes<AttentionAttributes>();
  auto tensors = read_tensors(operands, 0, operands.inputs());
  const auto from = attention_inputs(a, tensors);
  const auto rows = operands.input(0).shape.size(0);
  const auto width = static_cast<std::size_t>(a.heads * a.head_dim);
  Values y(rows * width), log_sum_exp(rows * static_cast<std::size_t>(a.heads));
  for_each_query(a, rows, [&](const Query& q) {
    Values scores;
    for (std::size_t key = q.first; key <= q.row; ++key)
      scores.push_back(q.score(from, key));
    log_sum_exp[q.scalar] =
        attend(scores, &y[q.row * width + q.head * q.head_dim], q.head_dim,
               [&](std::size_t i) { return from.v.row(q.first + i, q.kv_head, q.head_dim); });
  });
  operands.write(0, y);
  operands.write(1, log_sum_exp);
  return {};
}

Status cached_attention(const Operands& operands) {
  const auto& a = operands.attributes<AttentionAttributes>();
  const std::size_t cached = operands.inputs() - 3;
  auto tensors = read_tensors(operands, 0, cached);
  const auto from = attention_inputs(a, tensors);
  const auto rows = operands.input(0).shape[0];
  const auto places = operands.input(cached).shape[0] / (rows / a.sequence * a.kv_heads);
  TROUPE_TRY(const auto first, operands.read_first(cached + 2, a.sequence, places));
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  CachedRows keys{operands.read(cached), size(a.kv_heads), size(a.sequence), size(places),
                  size(a.head_dim)};
  auto values = keys;
  values.values = operands.read(cached + 1);
  keys.take(from.k, size(rows), first);
  values.take(from.v, size(rows), first);
  Values y(size(rows * a.heads * a.head_dim));
  for_each_query(a, size(rows), [&](const Query& q) {
    Values scores;
    for (std::size_t place = 0; place <= first + q.row - q.first; ++place)
      scores.push_back(q.scale * dot(from.q.row(q.row, q.head, q.head_dim),
                                     keys.at(q.row, q.kv_head, place), q.head_dim));
    attend(scores, &y[(q.row * size(a.heads) + q.head) * q.head_dim], q.head_dim,
           [&](std::size_t place) { return values.at(q.row, q.kv_head, place); });
  });
  operands.write(0, y);
  operands.write_back(cached, keys.values);
  operands.write_back(cached + 1, values.values);
  return {};
}

/// With p the probabilities and dp = dy * v^T, the gradient of scores is p * (dp - dy * y), where
/// dy * y is a product of rows (Dao et al., "FlashAttention", 2022, appendix B.2).
Status causal_attention_backward(const Operands& operands) {
  const auto& a = operands.attributes<AttentionAttributes>();
  const std::size_t parts = operands.outputs();
  auto dy = operands.read(0), y = operands.read(parts + 1);
  const auto log_sum_exp = operands.read(parts + 2);
  auto tensors = read_tensors(operands, 1, parts);
  std::vector<Values> gradients;
  gradients.reserve(tensors.size());
  for (const auto& tensor : tensors)
    gradients.emplace_back(tensor.size());
  const auto from = attention_inputs(a, tensors), to = attention_inputs(a, gradients);
  const auto heads = static_cast<std::size_t>(a.heads);
  const HeadRows dys{&dy, heads * static_cast<std::size_t>(a.head_dim), 0};
  const HeadRows ys{&y, dys.stride, 0};
  for_each_query(a, log_sum_exp.size() / heads, [&](const Query& q) {
    const auto dim = q.head_dim;
    const double* const d = dys.row(q.row, q.head, dim);
    const double mean = dot(d, ys.row(q.row, q.head, dim), dim);
    for (std::size_t key = q.first; key <= q.row; ++key) {
      const double p = std::exp(q.score(from, key) - log_sum_exp[q.scalar]);
      const double ds = p * (dot(d, from.v.row(key, q.kv_head, dim), dim) - mean) * q.scale;
      add_times(to.v.row(key, q.kv_head, dim), p, d, dim);
      add_times(to.q.row(q.row, q.head, dim), ds, from.k.row(key, q.kv_head, dim), dim);
      add_times(to.k.row(key, q.kv_head, dim), ds, from.q.row(q.row, q.head, dim), dim);
    }
  });
  for (std::size_t i = 0; i < parts; ++i)
    operands.write(i, gradients[i]);
  return {};
}

} // namespace troupe::cpu
