/// A histogram of durations in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace troupe::metrics {

/// Counts durations in 1024 even bins for each power of two: a quantile has an error below 0.1%.
/// Takes at most half a megabyte, typically some tens of kilobytes.
class DurationHistogram {
public:
  static constexpr std::size_t even_bins = 40;

  /// Ignores durations that are not finite or not above 0.
  void add(double seconds);

  std::int64_t count() const { return count_; }
  /// nan if empty.
  double least() const { return least_; }
  double most() const { return most_; }
  /// The duration that the given part of all durations does not exceed; 0.5 is the median.
  double quantile(double part) const;

  /// Even bins from `low` to `high`.
  struct Bins {
    double low, high;
    std::array<std::int64_t, even_bins> counts;
  };
  /// Omits outliers, those above 1.5 times the 99th percentile, so that the other durations stay
  /// distinguishable.
  Bins bins() const;

private:
  double counted_below(double seconds) const;

  std::map<int, std::vector<std::int64_t>>
      octaves_; ///< counts, by the exponent of the power of two
  std::int64_t count_ = 0;
  double least_ = std::numeric_limits<double>::quiet_NaN(), most_ = least_;
};

} // namespace troupe::metrics
