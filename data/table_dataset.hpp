/// A table of numbers: rows, of whose columns some are features and some are what is to be
/// predicted.
#pragma once

#include "dataset.hpp"
#include "troupe/core/config/forward.hpp"
#include "troupe/core/error.hpp"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::data {

/// What features are shifted and divided by; empty: nothing.
struct Standardization {
  std::vector<double> mean, deviation; ///< by feature
};

/// All rows in memory.
class TableDataset final : public Dataset {
public:
  struct Columns {
    std::vector<std::string> features, targets; ///< names
    std::vector<std::string> class_names;       ///< where the one target is a class; else empty
    Standardization standardization = {};       ///< that the features went through
  };
  /// `values`: a row after the other, its features and then its targets.
  TableDataset(Columns columns, std::vector<float> values)
      : columns_{std::move(columns)}, values_{std::move(values)} {}

  std::string_view name() const override { return "csv"; }
  const std::vector<std::string>& class_names() const override { return columns_.class_names; }
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

/// data.root/train.csv or test.csv: a line of column names, then a row of numbers a line, separated
/// by commas (RFC 4180; a name may be in quotes). Which columns are used: data.features and
/// data.targets. With data.standardize, of each feature the mean over the training rows is taken
/// away, and the rest divided by its standard deviation. With cross_entropy the one target is a
/// class, 0 to model.num_classes - 1. data.limit applies to Split::train. Errors (Errc::data, exit
/// code 2): a missing file or column (with the nearest name), a row of another length, what is no
/// finite number: with file, line and column.
Result<TablePtr> open_csv(const DataConfig& data, const ModelConfig& model, Split split);

/// Rows of files whose targets are not known, and may have no columns: a class is -1, numbers are
/// NaN. Features go through `standardization`. `rows`: gets the number of rows of each file.
/// Errors: as open_csv.
Result<TablePtr> open_csv_rows(std::span<const std::filesystem::path> files, const DataConfig& data,
                               const ModelConfig& model, const Standardization& standardization,
                               std::vector<std::int64_t>& rows);

} // namespace troupe::data
