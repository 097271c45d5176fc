#include "data/table_dataset.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace troupe::data {

namespace {

/// Sums are long doubles, so that squares of doubles neither overflow nor underflow.
template <class Term>
long double mean_of(const std::vector<double>& column, Term term) {
  long double sum = 0;
  for (const double value : column)
    sum += term(static_cast<long double>(value));
  return sum / static_cast<long double>(column.size());
}

/// Never returns 0, because the values differ.
double deviation_of(const std::vector<double>& column, long double mean) {
  const auto variance =
      mean_of(column, [&](long double value) { return (value - mean) * (value - mean); });
  return std::max(static_cast<double>(std::sqrt(variance)),
                  std::numeric_limits<double>::denorm_min());
}

} // namespace

float Standardization::apply(double value, std::size_t column) const {
  const auto standard = mean.empty() ? value : (value - mean[column]) / deviation[column];
  return static_cast<float>(standard);
}

Standardization standardization_of(std::span<const double> rows, std::size_t width,
                                   std::size_t features) {
  Standardization standard;
  for (std::size_t feature = 0; feature < features; ++feature) {
    std::vector<double> column;
    column.reserve(rows.size() / width);
    for (auto i = feature; i < rows.size(); i += width)
      column.push_back(rows[i]);
    const bool constant = std::ranges::count(column, column[0]) == std::ssize(column);
    const auto mean =
        constant ? static_cast<long double>(column[0]) : mean_of(column, std::identity{});
    standard.mean.push_back(static_cast<double>(mean));
    standard.deviation.push_back(constant ? 1 : deviation_of(column, mean));
  }
  return standard;
}

} // namespace troupe::data
