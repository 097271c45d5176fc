#include "metrics/report/duration_histogram.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::metrics {

namespace {

constexpr int bins_per_octave = 1024;
/// A nanosecond, and eleven days. Durations beyond count in the first or last octave.
constexpr int least_exponent = -30, most_exponent = 20;

double edge(int exponent, std::size_t bin) {
  return std::ldexp(1 + static_cast<double>(bin) / bins_per_octave, exponent);
}

} // namespace

void DurationHistogram::add(double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0)
    return;
  ++count_;
  least_ = std::fmin(least_, seconds);
  most_ = std::fmax(most_, seconds);
  const int exponent = std::clamp(std::ilogb(seconds), least_exponent, most_exponent);
  const auto within = (std::ldexp(seconds, -exponent) - 1) * bins_per_octave;
  auto& bins = octaves_.try_emplace(exponent, bins_per_octave).first->second;
  ++bins[static_cast<std::size_t>(std::clamp(within, 0.0, bins_per_octave - 1.0))];
}

double DurationHistogram::quantile(double part) const {
  if (part >= 1 || count_ == 0)
    return most_;
  auto before = static_cast<std::int64_t>(part * static_cast<double>(count_ - 1));
  for (const auto& [exponent, bins] : octaves_)
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      if (before < bins[bin])
        return std::clamp((edge(exponent, bin) + edge(exponent, bin + 1)) / 2, least_, most_);
      before -= bins[bin];
    }
  return most_;
}

/// Assumes an even distribution within each bin.
double DurationHistogram::counted_below(double seconds) const {
  double sum = 0;
  for (const auto& [exponent, bins] : octaves_)
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      const auto low = edge(exponent, bin), high = edge(exponent, bin + 1);
      if (seconds <= low)
        return sum;
      sum += static_cast<double>(bins[bin]) * std::min(1.0, (seconds - low) / (high - low));
    }
  return sum;
}

DurationHistogram::Bins DurationHistogram::bins() const {
  Bins even{.low = least_, .high = std::fmin(most_, 1.5 * quantile(0.99)), .counts = {}};
  if (count_ == 0)
    return even;
  // An octave's bin may extend below the least duration and beyond the greatest.
  even.high = std::max(even.high, even.low * (1 + 1e-3));
  std::int64_t before = 0;
  for (std::size_t i = 0; i < even_bins; ++i) {
    const auto end =
        i + 1 == even_bins && even.high >= most_
            ? count_
            : std::llround(counted_below(even.low + (even.high - even.low) *
                                                        static_cast<double>(i + 1) / even_bins));
    even.counts[i] = end - before;
    before = end;
  }
  return even;
}

} // namespace troupe::metrics
