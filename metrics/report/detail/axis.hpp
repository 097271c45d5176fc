/// Round numbers along an axis, and where they are drawn.
#pragma once

#include <vector>

namespace troupe::metrics {

/// Maps low..high of the data to from..to of the drawing.
struct Axis {
  double low = 0, high = 1;
  double from = 0, to = 1;

  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

/// An axis a little longer than the data, so that its ends are round.
Axis round_axis(double low, double high, int ticks, double from, double to);

/// About `wanted` round numbers within the axis; only whole ones if asked for.
std::vector<double> ticks(const Axis& axis, int wanted, bool whole = false);

} // namespace troupe::metrics
