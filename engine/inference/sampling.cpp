#include "sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace troupe::engine {

namespace {

/// From [0, 1): std::uniform_real_distribution differs between libraries.
double uniform(std::mt19937_64& random) {
  constexpr double unit = 0x1p-53;
  return static_cast<double>(random() >> 11) * unit;
}

} // namespace

std::int32_t Sampler::choose(std::span<const float> logits) {
  rank(logits);
  if (options_.temperature == 0)
    return candidates_.front().id;
  weigh(logits);
  keep_top_p();
  double left = uniform(random_) * total();
  for (const auto& candidate : candidates_)
    if ((left -= candidate.weight) < 0)
      return candidate.id;
  return candidates_.front().id; // sums were rounded, or the weights are no numbers
}

void Sampler::rank(std::span<const float> logits) {
  candidates_.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    candidates_[i] = {static_cast<std::int32_t>(i), 0};
  const auto logit = [&](const Candidate& c) { return logits[static_cast<std::size_t>(c.id)]; };
  const auto before = [&](const Candidate& a, const Candidate& b) {
    const float x = logit(a), y = logit(b);
    if (std::isnan(x) || std::isnan(y)) // last, so that the order is one
      return !std::isnan(x) || (std::isnan(y) && a.id < b.id);
    return x != y ? x > y : a.id < b.id;
  };
  auto kept = options_.temperature == 0 ? 1 : std::ssize(candidates_);
  if (options_.top_k > 0)
    kept = std::min<std::ptrdiff_t>(kept, options_.top_k);
  std::partial_sort(candidates_.begin(), candidates_.begin() + kept, candidates_.end(), before);
  candidates_.resize(static_cast<std::size_t>(kept));
}

void Sampler::weigh(std::span<const float> logits) {
  const double most = logits[static_cast<std::size_t>(candidates_.front().id)];
  for (auto& candidate : candidates_) {
    const double below = logits[static_cast<std::size_t>(candidate.id)] - most;
    candidate.weight = std::isnan(below) ? 0 : std::exp(below / options_.temperature);
  }
}

void Sampler::keep_top_p() {
  if (options_.top_p >= 1)
    return;
  const double wanted = options_.top_p * total();
  double sum = 0;
  std::size_t kept = 0;
  while (kept < candidates_.size() && (kept == 0 || sum < wanted))
    sum += candidates_[kept++].weight;
  candidates_.resize(kept);
}

double Sampler::total() const {
  return std::accumulate(candidates_.begin(), candidates_.end(), 0.0,
                         [](double sum, const Candidate& c) { return sum + c.weight; });
}

} // namespace troupe::engine
