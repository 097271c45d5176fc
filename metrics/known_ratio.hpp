/// Ratios that may be unknown.
#pragma once

#include <cmath>
#include <optional>

namespace troupe::metrics {

/// Returns part / whole; empty if `whole` is not above 0 or `part` is not finite.
inline std::optional<double> known_ratio(double part, double whole) {
  return whole > 0 && std::isfinite(part) ? std::optional{part / whole} : std::nullopt;
}

} // namespace troupe::metrics
