#include "data/standardization.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace troupe::data {

namespace {

/// One column of a table. Sums are long doubles, so that squares of doubles neither overflow nor
/// underflow.
class Column {
public:
  Column(std::span<const double> rows, std::size_t width, std::size_t column)
      : rows_{rows}, width_{width}, column_{column}, count_{rows.size() / width} {}

  bool is_constant() const {
    for (std::size_t row = 1; row < count_; ++row)
      if (at(row) != at(0))
        return false;
    return true;
  }

  double first() const { return at(0); }

  template <class Term>
  long double mean(Term term) const {
    long double sum = 0;
    for (std::size_t row = 0; row < count_; ++row)
      sum += term(static_cast<long double>(at(row)));
    return sum / static_cast<long double>(count_);
  }

private:
  double at(std::size_t row) const { return rows_[row * width_ + column_]; }

  std::span<const double> rows_;
  std::size_t width_, column_, count_;
};

/// Never returns 0, because the values differ.
double deviation_of(const Column& column, long double mean) {
  const auto variance =
      column.mean([&](long double value) { return (value - mean) * (value - mean); });
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
    const Column column{rows, width, feature};
    const bool constant = column.is_constant();
    const auto mean =
        constant ? static_cast<long double>(column.first()) : column.mean(std::identity{});
    standard.mean.push_back(static_cast<double>(mean));
    standard.deviation.push_back(constant ? 1 : deviation_of(column, mean));
  }
  return standard;
}

} // namespace troupe::data
