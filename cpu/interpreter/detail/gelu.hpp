/// GELU and its derivative, in double (core/graph/op.hpp, GeluAttributes).
#pragma once

#include <cmath>
#include <numbers>

namespace troupe::cpu {

/// Value and derivative at x of x * p(x).
struct Gelu {
  double value, slope;
};

inline Gelu exact_gelu(double x) {
  const double p = std::erfc(-x / std::numbers::sqrt2) / 2;
  const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return {x * p, p + x * density};
}

inline Gelu tanh_gelu(double x) {
  constexpr double cubic = 0.044715;
  const double factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi; // sqrt(2 / pi)
  const double t = std::tanh(factor * (x + cubic * x * x * x));
  const double p = (1 + t) / 2;
  return {x * p, p + x * (1 - t * t) / 2 * factor * (1 + 3 * cubic * x * x)};
}

} // namespace troupe::cpu
