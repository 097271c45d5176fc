/// Ratios of what may not be known.
#pragma once

#include <cmath>
#include <optional>

namespace troupe::metrics {

/// Empty where the whole is 0, or the part is no number.
inline std::optional<double> known_ratio(double part, double whole) {
  return whole > 0 && std::isfinite(part) ? std::optional{part / whole} : std::nullopt;
}

} // namespace troupe::metrics
