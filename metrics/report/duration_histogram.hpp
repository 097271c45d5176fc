/// How long something took, very often: in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace troupe::metrics {

/// Counts by even bins in each power of two, a thousand of them: a quantile is right within 0.1%.
/// At most half a megabyte; usually some tens of kilobytes.
class DurationHistogram {
public:
  static constexpr std::size_t even_bins = 40;

  /// What is no finite duration above 0 is not counted.
  void add(double seconds);

  std::int64_t count() const { return count_; }
  /// nan when nothing was counted.
  double least() const { return least_; }
  double most() const { return most_; }
  /// Of all durations, the part that took no longer; 0.5 is the median.
  double quantile(double part) const;

  /// From low to high, in even bins.
  struct Bins {
    double low, high;
    std::array<std::int64_t, even_bins> counts;
  };
  /// Those few that took far longer than the others are not in it, so that these can be told apart.
  Bins bins() const;

private:
  double counted_below(double seconds) const;

  std::map<int, std::vector<std::int64_t>>
      octaves_; ///< counts, by the exponent of the power of two
  std::int64_t count_ = 0;
  double least_ = std::numeric_limits<double>::quiet_NaN(), most_ = least_;
};

} // namespace troupe::metrics
