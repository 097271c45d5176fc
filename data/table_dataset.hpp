/// A table: rows whose columns are features and targets.
#pragma once

#include "core/config/forward.hpp"
#include "core/error.hpp"
#include "data/dataset.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::data {

/// Values to subtract from features, and divisors, in doubles. If empty, features are unchanged.
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

/// Properties of a table that its training rows determine.
struct TableTraits {
  Standardization standardization = {};
  std::vector<std::string> class_names = {}; ///< by label; empty unless the target is a class
};

/// A table with all rows in memory.
class TableDataset final : public Dataset {
public:
  struct Columns {
    std::vector<std::string> features, targets; ///< names
    TableTraits traits = {};
  };
  /// `values` contains one row after another: its features, then its targets.
  TableDataset(Columns columns, std::vector<float> values)
      : columns_{std::move(columns)}, values_{std::move(values)} {}

  std::string_view name() const override { return "csv"; }
  const std::vector<std::string>& class_names() const override {
    return columns_.traits.class_names;
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(values_.size() / width()); }

  const Columns& columns() const { return columns_; }
  std::span<const float> features(std::int64_t row) const {
    return {at(row), columns_.features.size()};
  }
  std::span<const float> targets(std::int64_t row) const {
    return {at(row) + columns_.features.size(), columns_.targets.size()};
  }

private:
  void add_content(Sha256& sha) const override;
  std::size_t width() const { return columns_.features.size() + columns_.targets.size(); }
  const float* at(std::int64_t row) const {
    return values_.data() + static_cast<std::size_t>(row) * width();
  }

  Columns columns_;
  std::vector<float> values_;
};
using TablePtr = std::shared_ptr<const TableDataset>;

/// Opens data.root/train.csv or test.csv: a line of column names, then one row a line
/// (detail/csv_file.hpp has the grammar). data.table.features and data.table.targets name the
/// columns. With data.table.standardize, each feature is reduced by the mean of the training rows
/// and divided by their standard deviation. With cross_entropy, the only target is a class
/// (table_classes.hpp). data.limit applies to Split::train. If `known` is given, train.csv is read
/// only for its rows. Errors (Errc::data, exit code 2): those of read_csv, find_classes and
/// labels_of; a value that does not fit in a float.
Result<TablePtr> open_csv(const DataConfig& data, const ModelConfig& model, Split split,
                          const std::optional<TableTraits>& known = {});

/// Opens rows for prediction. Target columns may be missing; every target is -1 (a class) or NaN (a
/// number). `rows` receives the number of rows in each file. Errors: as open_csv.
Result<TablePtr> open_csv_rows(std::span<const std::filesystem::path> files, const DataConfig& data,
                               const ModelConfig& model, const TableTraits& traits,
                               std::vector<std::int64_t>& rows);

} // namespace troupe::data
