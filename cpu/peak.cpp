#include "cpu/peak.hpp"

#include "cpu/detail/bursts.hpp"
#include "cpu/detail/core_threads.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

constexpr int tries = 100;

double rate_of_this_core(DType type) {
  double best = 0;
  for (const auto& burst : bursts_of(type))
    best = std::max(best, fastest_rate(burst, tries));
  return best;
}

} // namespace

double measure_peak(DType type, int cores) {
  return sum_over_cores(cores, [type](std::size_t) { return rate_of_this_core(type); });
}

double PeakMeter::largest() {
  const double known = largest_;
  return known > 0 ? known : measure();
}

double PeakMeter::measure() {
  const std::lock_guard lock{measuring_};
  largest_ = std::max(largest_.load(), measure_());
  return largest_;
}

} // namespace troupe::cpu
