#include "axis.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::metrics {

namespace {

/// 1, 2 or 5 times a power of ten.
double round_step(double length, int wanted, bool whole) {
  const double rough = length / std::max(1, wanted);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double digit = rough / power;
  const double step = power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
  return whole ? std::max(1.0, step) : step;
}

} // namespace

Axis round_axis(double low, double high, int wanted, double from, double to) {
  if (!(high > low)) { // one value, or none
    const double room = std::max(std::abs(low) * 0.1, 1e-6);
    low -= room;
    high += room;
  }
  const double step = round_step(high - low, wanted, false);
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, from, to};
}

std::vector<double> ticks(const Axis& axis, int wanted, bool whole) {
  const double step = round_step(axis.high - axis.low, wanted, whole);
  std::vector<double> result;
  const auto last = std::floor(axis.high / step + 1e-9);
  for (auto i = std::ceil(axis.low / step - 1e-9); i <= last; ++i)
    result.push_back(i * step + 0.0); // no negative zero
  return result;
}

} // namespace troupe::metrics
