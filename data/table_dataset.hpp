/// A table: rows whose columns are features and targets.
#pragma once

#include "core/config/forward.hpp"
#include "core/error.hpp"
#include "data/dataset.hpp"
#include "data/standardization.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::data {

/// Facts about a table that come from its training rows.
struct TableTraits {
  Standardization standardization = {};
  std::vector<std::string> class_names = {}; ///< by label; empty unless the target is a class
};

/// All rows in memory.
class TableDataset final : public Dataset {
public:
  struct Columns {
    std::vector<std::string> features, targets; ///< names
    TableTraits traits = {};
  };
  /// `values`: a row after the other, its features and then its targets.
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

/// data.root/train.csv or test.csv: a line of column names, then a row a line
/// (detail/csv_parser.hpp has the grammar). data.features and data.targets name the columns. With
/// data.standardize, the mean of the training rows is subtracted from each feature, and the rest
/// divided by their standard deviation. With cross_entropy the one target is a class
/// (table_classes.hpp). data.limit applies to Split::train. If `known` is given, train.csv is read
/// only for its rows. Errors (Errc::data, exit code 2): those of read_csv, find_classes and
/// labels_of; a value that a float cannot hold.
Result<TablePtr> open_csv(const DataConfig& data, const ModelConfig& model, Split split,
                          const std::optional<TableTraits>& known = {});

/// Rows of files without their targets, whose columns need not exist: a class is -1, numbers are
/// NaN. `rows`: receives the number of rows of each file. Errors: as open_csv.
Result<TablePtr> open_csv_rows(std::span<const std::filesystem::path> files, const DataConfig& data,
                               const ModelConfig& model, const TableTraits& traits,
                               std::vector<std::int64_t>& rows);

} // namespace troupe::data
