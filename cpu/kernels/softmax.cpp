// Softmax over long rows, for the rows of logits in linear_cross_entropy.
#include "cpu/kernels/detail/exponential.hpp"
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

// Number of parallel sums, which form vectors in every instruction set.
constexpr std::size_t ways = 16;

float largest(const float* x, std::size_t elements) {
  float most[ways];
  for (float& value : most)
    value = x[0];
  std::size_t i = 0;
  for (; i + ways <= elements; i += ways)
    for (std::size_t way = 0; way < ways; ++way)
      most[way] = x[i + way] > most[way] ? x[i + way] : most[way];
  for (; i < elements; ++i)
    most[0] = x[i] > most[0] ? x[i] : most[0];
  for (const float value : most)
    most[0] = value > most[0] ? value : most[0];
  return most[0];
}

ExponentialSum exponential_sum(const float* x, std::size_t elements) {
  const float most = largest(x, elements);
  float sums[ways] = {};
  std::size_t i = 0;
  for (; i + ways <= elements; i += ways)
    for (std::size_t way = 0; way < ways; ++way)
      sums[way] += exponential(x[i + way] - most);
  for (; i < elements; ++i)
    sums[0] += exponential(x[i] - most);
  float sum = 0;
  for (const float value : sums)
    sum += value;
  return {most, sum};
}

void softmax_gradient(float* logits, std::size_t elements, float log_sum_exp, float spread,
                      float factor) {
  for (std::size_t i = 0; i < elements; ++i)
    logits[i] = (exponential(logits[i] - log_sum_exp) - spread) * factor;
}

} // namespace

void set_softmax(Kernels& kernels) {
  kernels.exponential_sum = exponential_sum;
  kernels.softmax_gradient = softmax_gradient;
}

} // namespace troupe::cpu::TROUPE_VARIANT
