/// Converts cells of a table to the floats that a model receives.
#pragma once

#include "core/config/forward.hpp"
#include "core/error.hpp"
#include "data/detail/csv_file.hpp"
#include "data/standardization.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace troupe::data {

/// Collects rows: standardized features, then targets. `table` and `standardization` must outlive
/// it. Errors of all members: Errc::data, with file, line and column, if a value does not fit in a
/// float.
class TableValues {
public:
  TableValues(const TableConfig& table, const Standardization& standardization)
      : table_{table}, standardization_{standardization} {}

  /// Adds the first `count` rows. `labels` has one label per row; it is empty if the targets are
  /// numbers, which follow the features in `rows`.
  Status add(const std::filesystem::path& file, const CsvColumns& rows, std::size_t count,
             std::span<const std::int32_t> labels);
  /// Adds all rows, which have only features. Each target becomes class -1 if `classes` is set,
  /// otherwise NaN.
  Status add_unlabeled(const std::filesystem::path& file, const CsvColumns& rows, bool classes);

  std::vector<float> take() && { return std::move(values_); }

private:
  Status add_features(const std::filesystem::path& file, std::size_t line,
                      std::span<const double> numbers);
  Status add_targets(const std::filesystem::path& file, std::size_t line,
                     std::span<const double> numbers);

  const TableConfig& table_;
  const Standardization& standardization_;
  std::vector<float> values_;
};

} // namespace troupe::data
