// Compares the attention kernels with the formulas in double.
#include "core/float16.hpp"
#include "core/random.hpp"
#include "cpu/kernels/kernels.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace troupe;

namespace {

using Values = std::vector<double>;

template <class T>
T element(float value) {
  if constexpr (std::is_same_v<T, float>)
    return value;
  else
    return {bf16_from_float(value)};
}
double number(float value) {
  return double{value};
}
double number(cpu::Bf16 value) {
  return double{float_from_bf16(value.bits)};
}

/// Heads that share keys and values; their rows are contiguous.
template <class T>
struct Problem {
  std::size_t sequence, dim, heads;
  std::vector<T> q, k, v, dy;

  Problem(std::size_t s, std::size_t d, std::size_t h)
      : sequence{s}, dim{d}, heads{h}, q{draw(s * h * d, 1)}, k{draw(s * d, 2)}, v{draw(s * d, 3)},
        dy{draw(s * h * d, 4)} {}

  static std::vector<T> draw(std::size_t count, std::uint64_t seed) {
    CounterRng random{seed, 0};
    std::vector<T> values(count);
    for (auto& value : values)
      value = element<T>(random.normal());
    return values;
  }
  cpu::AttentionShape shape() const {
    return {.sequence = sequence,
            .head_dim = dim,
            .heads = heads,
            .q_distance = heads * dim,
            .kv_distance = dim,
            .y_distance = heads * dim};
  }
};

struct AttentionResults {
  Values y, log_sum_exp, dq, dk, dv;
};

template <class T>
double product(const T* a, const T* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i)
    sum += number(a[i]) * number(b[i]);
  return sum;
}

/// Adds one row of one head. `y` is the stored (rounded) output, which backward reads.
template <class T>
void add_row(const Problem<T>& p, std::size_t row, std::size_t head, AttentionResults& r) {
  const std::size_t at = (row * p.heads + head) * p.dim;
  const double scale = 1 / std::sqrt(static_cast<double>(p.dim));
  Values probability(row + 1), gradient(row + 1);
  double sum = 0, mean = 0;
  for (std::size_t key = 0; key <= row; ++key)
    sum += probability[key] = std::exp(scale * product(&p.q[at], &p.k[key * p.dim], p.dim));
  r.log_sum_exp.push_back(std::log(sum));
  for (std::size_t key = 0; key <= row; ++key) {
    probability[key] /= sum;
    gradient[key] = product(&p.dy[at], &p.v[key * p.dim], p.dim);
    mean += probability[key] * gradient[key];
  }
  for (std::size_t key = 0; key <= row; ++key)
    for (std::size_t c = 0; c < p.dim; ++c) {
      const double d = scale * probability[key] * (gradient[key] - mean);
      r.y[at + c] += probability[key] * number(p.v[key * p.dim + c]);
      r.dv[key * p.dim + c] += probability[key] * number(p.dy[at + c]);
      r.dq[at + c] += d * number(p.k[key * p.dim + c]);
      r.dk[key * p.dim + c] += d * number(p.q[at + c]);
    }
}

template <class T>
AttentionResults formulas(const Problem<T>& p) {
  AttentionResults r{
      Values(p.q.size()), {}, Values(p.q.size()), Values(p.k.size()), Values(p.k.size())};
  for (std::size_t head = 0; head < p.heads; ++head)
    for (std::size_t row = 0; row < p.sequence; ++row)
      add_row(p, row, head, r);
  return r;
}

template <class T>
Values numbers(const std::vector<T>& values) {
  Values result;
  for (const auto value : values)
    result.push_back(number(value));
  return result;
}

/// Runs the kernels with uninitialized (NaN) scratch memory.
template <class T>
AttentionResults run(const cpu::TypedKernels<T>& kernels, const Problem<T>& p) {
  std::vector<T> y(p.q.size()), dq(p.q.size()), dk(p.k.size()), dv(p.k.size());
  std::vector<float> log_sum_exp(p.sequence * p.heads);
  std::vector<float> scratch(kernels.attention_scratch(p.shape(), false), NAN);
  kernels.attention(p.shape(), {p.q.data(), p.k.data(), p.v.data(), y.data(), log_sum_exp.data()},
                    scratch.data());
  scratch.assign(kernels.attention_scratch(p.shape(), true), NAN);
  kernels.attention_backward(p.shape(),
                             {p.dy.data(), p.q.data(), p.k.data(), p.v.data(), y.data(),
                              log_sum_exp.data(), dq.data(), dk.data(), dv.data()},
                             scratch.data());
  return {numbers(y), numbers(log_sum_exp), numbers(dq), numbers(dk), numbers(dv)};
}

/// Returns the largest difference, divided by the largest value.
double attention_error(const Values& got, const Values& expected) {
  double most = 0, difference = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    most = std::max(most, std::abs(expected[i]));
    difference =
        std::isnan(got[i]) ? INFINITY : std::max(difference, std::abs(got[i] - expected[i]));
  }
  return difference / most;
}

void check(const AttentionResults& got, const AttentionResults& expected, bool has_one_key,
           double bound) {
  CHECK(attention_error(got.y, expected.y) < bound);
  CHECK(attention_error(got.dv, expected.dv) < bound);
  if (has_one_key) // then the scores have no gradient
    return;
  CHECK(attention_error(got.log_sum_exp, expected.log_sum_exp) < bound);
  CHECK(attention_error(got.dq, expected.dq) < bound);
  CHECK(attention_error(got.dk, expected.dk) < bound);
}

/// Checks lengths and widths near tile boundaries, with one head and with three, on every
/// instruction set.
template <class T>
void check(cpu::TypedKernels<T> cpu::Kernels::*of_type, double bound) {
  for (const std::size_t sequence : {1, 31, 65, 130, 192})
    for (const std::size_t dim : {6, 32, 64, 80})
      for (const std::size_t heads : {1, 3}) {
        const Problem<T> problem{sequence, dim, heads};
        const auto expected = formulas(problem);
        for (const auto& kernels : cpu::usable_kernels()) {
          INFO(kernels.name << ", " << sequence << " tokens, " << heads << " heads of " << dim);
          check(run(kernels.*of_type, problem), expected, sequence == 1, bound);
        }
      }
}

} // namespace

TEST_CASE("attention matches its formulas up to rounding") {
  check(&cpu::Kernels::f32, 1e-5);
  check(&cpu::Kernels::bf16, 2e-2);
}
