#include "training/sampling/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace troupe::training {

namespace {

/// Returns a number in [0, 1). std::uniform_real_distribution differs between libraries.
double uniform(std::mt19937_64& random) {
  constexpr double unit = 0x1p-53;
  return static_cast<double>(random() >> 11) * unit;
}

template <class Candidate>
bool before(const Candidate& a, const Candidate& b) {
  return is_likelier(a.logit, a.id, b.logit, b.id);
}

} // namespace

std::int32_t Sampler::choose(std::span<const float> logits) {
  collect(logits);
  const auto likeliest = *std::ranges::min_element(candidates_, before<Candidate>);
  if (options_.temperature == 0)
    return likeliest.id;
  keep_top_k();
  weigh(likeliest.logit);
  keep_top_p();
  double left = uniform(random_) * total();
  for (const auto& candidate : candidates_)
    if ((left -= candidate.weight) < 0)
      return candidate.id;
  return likeliest.id; // rounding errors in sums, or NaN weights
}

void Sampler::collect(std::span<const float> logits) {
  candidates_.clear();
  auto never = never_.begin();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (never != never_.end() && *never == id)
      ++never;
    else
      candidates_.push_back({id, logits[i], 0});
  }
}

void Sampler::keep_top_k() {
  if (options_.top_k == 0 || options_.top_k >= std::ssize(candidates_))
    return;
  const auto kept = candidates_.begin() + options_.top_k;
  std::ranges::partial_sort(candidates_, kept, before<Candidate>);
  candidates_.erase(kept, candidates_.end());
}

void Sampler::weigh(float most) {
  for (auto& candidate : candidates_) {
    const double below = double{candidate.logit} - double{most};
    candidate.weight = std::isnan(below) ? 0 : std::exp(below / options_.temperature);
  }
}

/// Uses a heap, because usually only a few candidates are popped.
void Sampler::keep_top_p() {
  if (options_.top_p >= 1)
    return;
  const double wanted = options_.top_p * total();
  const auto after = [](const Candidate& a, const Candidate& b) { return before(b, a); };
  std::ranges::make_heap(candidates_, after);
  auto kept = candidates_.end();
  double sum = 0;
  do {
    std::ranges::pop_heap(candidates_.begin(), kept, after);
    sum += (--kept)->weight;
  } while (kept != candidates_.begin() && sum < wanted);
  candidates_.erase(candidates_.begin(), kept);
}

double Sampler::total() const {
  return std::accumulate(candidates_.begin(), candidates_.end(), 0.0,
                         [](double sum, const Candidate& c) { return sum + c.weight; });
}

} // namespace troupe::training
