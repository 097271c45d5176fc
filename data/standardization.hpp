/// Standardizes a table's features, in doubles.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::data {

/// Values to subtract from features, and divisors. If empty, features are unchanged.
struct Standardization {
  std::vector<double> mean, deviation; ///< by feature

  /// Returns a row's value of feature `column` as the model receives it; infinite if it does not
  /// fit in a float.
  float apply(double value, std::size_t column) const;
};

/// Returns the means and population standard deviations of the first `features` columns of rows of
/// `width` numbers. A column of equal values has that value as mean and deviation 1, so that it
/// becomes exactly 0.
Standardization standardization_of(std::span<const double> rows, std::size_t width,
                                   std::size_t features);

} // namespace troupe::data
