/// Standardization of a table's features, in doubles.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::data {

/// Values subtracted from features, and divisors; empty: features stay as they are.
struct Standardization {
  std::vector<double> mean, deviation; ///< by feature

  /// A row's value of feature `column` as the model receives it; infinite if a float cannot hold
  /// it.
  float apply(double value, std::size_t column) const;
};

/// Means and population standard deviations of the first `features` columns of rows of `width`
/// numbers. A column whose values are all equal has that value as its mean and a deviation of 1, so
/// that it becomes 0 exactly.
Standardization standardization_of(std::span<const double> rows, std::size_t width,
                                   std::size_t features);

} // namespace troupe::data
