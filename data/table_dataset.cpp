#include "data/table_dataset.hpp"

#include "core/config/config.hpp"
#include "core/config/data.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "data/detail/csv_file.hpp"
#include "data/table_classes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::data {

namespace {

bool has_classes(const ModelConfig& model) {
  return model.loss == LossKind::cross_entropy;
}

std::string place(const std::filesystem::path& file, std::size_t line, const std::string& column) {
  return fmt::format("{}:{}: column \"{}\"", escaped(file.string()), line, echoed(column));
}

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
             std::span<const std::int32_t> labels) {
    const auto features = table_.features.size();
    const auto width = rows.numbers.size() / rows.lines.size();
    for (std::size_t row = 0; row < count; ++row) {
      const auto numbers = std::span{rows.numbers}.subspan(row * width, width);
      TROUPE_TRY(add_features(file, rows.lines[row], numbers.first(features)));
      TROUPE_TRY(add_targets(file, rows.lines[row], numbers.subspan(features)));
      if (!labels.empty())
        values_.push_back(static_cast<float>(labels[row]));
    }
    return {};
  }

  /// Adds all rows, which have only features. Each target becomes class -1 if `classes` is set,
  /// otherwise NaN.
  Status add_unlabeled(const std::filesystem::path& file, const CsvColumns& rows, bool classes) {
    const auto features = table_.features.size();
    const auto unknown = classes ? -1.0f : std::numeric_limits<float>::quiet_NaN();
    for (std::size_t row = 0; row < rows.lines.size(); ++row) {
      TROUPE_TRY(add_features(file, rows.lines[row],
                              std::span{rows.numbers}.subspan(row * features, features)));
      values_.insert(values_.end(), table_.targets.size(), unknown);
    }
    return {};
  }

  std::vector<float> take() && { return std::move(values_); }

private:
  Status add_features(const std::filesystem::path& file, std::size_t line,
                      std::span<const double> numbers) {
    for (std::size_t i = 0; i < table_.features.size(); ++i) {
      values_.push_back(standardization_.apply(numbers[i], i));
      if (!std::isfinite(values_.back()))
        return fail(Errc::data, "{}: {} is too large for a 32-bit float{}",
                    place(file, line, table_.features[i]), numbers[i],
                    standardization_.mean.empty() ? "; set data.table.standardize: true"
                                                  : ", even after standardization");
    }
    return {};
  }

  Status add_targets(const std::filesystem::path& file, std::size_t line,
                     std::span<const double> numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      values_.push_back(static_cast<float>(numbers[i]));
      if (!std::isfinite(values_.back()))
        return fail(Errc::data, "{}: {} is too large for a 32-bit float; scale the column down",
                    place(file, line, table_.targets[i]), numbers[i]);
    }
    return {};
  }

  const TableConfig& table_;
  const Standardization& standardization_;
  std::vector<float> values_;
};

class CsvOpener {
public:
  CsvOpener(const DataConfig& data, const ModelConfig& model)
      : data_{data}, model_{model}, classes_{has_classes(model)} {}

  Result<TablePtr> open(Split split, const std::optional<TableTraits>& known) const {
    TROUPE_TRY(check_targets());
    if (known) {
      TROUPE_TRY(const auto rows, read(split));
      return table(split, rows, *known);
    }
    TROUPE_TRY(auto training, read(Split::train));
    TROUPE_TRY(const auto traits, traits_of(training));
    if (split == Split::train)
      return table(split, training, traits);
    TROUPE_TRY(const auto rows, read(split));
    return table(split, rows, traits);
  }

private:
  std::string file(Split split) const {
    return (std::filesystem::path{data_.root} / fmt::format("{}.csv", to_string(split))).string();
  }

  CsvQuery query() const {
    CsvQuery query{.numbers = data_.table.features,
                   .delimiter = character_of(data_.table.delimiter)};
    if (classes_)
      query.words = data_.table.targets[0];
    else
      query.numbers.insert(query.numbers.end(), data_.table.targets.begin(),
                           data_.table.targets.end());
    return query;
  }

  Result<CsvColumns> read(Split split) const { return read_csv(file(split), query()); }

  ClassColumn class_column(Split split, const CsvColumns& rows) const {
    return {escaped(file(split)), data_.table.targets[0], rows.words, rows.lines};
  }

  /// Determines classes from all training rows, so that data.limit changes no label. Means and
  /// deviations come from the rows used in training.
  Result<TableTraits> traits_of(const CsvColumns& training) const {
    TableTraits traits;
    if (classes_) {
      TROUPE_TRY(traits.class_names,
                 find_classes(class_column(Split::train, training), model_.num_classes));
    }
    const auto width = query().numbers.size();
    if (data_.table.standardize)
      traits.standardization = standardization_of(
          std::span{training.numbers}.first(used_rows(Split::train, training) * width), width,
          data_.table.features.size());
    return traits;
  }

  std::size_t used_rows(Split split, const CsvColumns& rows) const {
    const auto all = rows.lines.size();
    return data_.limit && split == Split::train
               ? std::min(all, static_cast<std::size_t>(*data_.limit))
               : all;
  }

  Result<TablePtr> table(Split split, const CsvColumns& rows, const TableTraits& traits) const {
    TableValues values{data_.table, traits.standardization};
    std::vector<std::int32_t> labels;
    if (classes_) {
      TROUPE_TRY(labels, labels_of(class_column(split, rows), traits.class_names));
    }
    TROUPE_TRY(values.add(file(split), rows, used_rows(split, rows), labels));
    return std::make_shared<const TableDataset>(
        TableDataset::Columns{data_.table.features, data_.table.targets, traits},
        std::move(values).take());
  }

  Status check_targets() const {
    const auto outputs = std::ssize(data_.table.targets);
    if (classes_ && outputs != 1)
      return fail(Errc::data,
                  "data.table.targets has {} columns, but cross_entropy takes one, the class; set "
                  "model.loss: mean_squared_error to predict numbers",
                  outputs);
    if (!classes_ && outputs != model_.num_classes)
      return fail(Errc::data,
                  "data.table.targets has {} columns, but the model has {} outputs: set "
                  "model.num_classes: {}",
                  outputs, model_.num_classes, outputs);
    return {};
  }

  const DataConfig& data_;
  const ModelConfig& model_;
  bool classes_; ///< the target is a class, not a number
};

} // namespace

void TableDataset::add_content(Sha256& sha) const {
  for (const auto* names : {&columns_.features, &columns_.targets})
    for (const auto& name : *names)
      sha.update(name + '\n');
  sha.update(std::as_bytes(std::span{values_}));
}

Result<TablePtr> open_csv(const DataConfig& data, const ModelConfig& model, Split split,
                          const std::optional<TableTraits>& known) {
  return CsvOpener{data, model}.open(split, known);
}

Result<TablePtr> open_csv_rows(std::span<const std::filesystem::path> files, const DataConfig& data,
                               const ModelConfig& model, const TableTraits& traits,
                               std::vector<std::int64_t>& rows) {
  auto used = traits;
  if (has_classes(model) && used.class_names.empty())
    used.class_names = numbered_classes(model.num_classes);
  TableValues values{data.table, used.standardization};
  for (const auto& file : files) {
    const CsvQuery query{.numbers = data.table.features,
                         .delimiter = character_of(data.table.delimiter)};
    TROUPE_TRY(const auto read, read_csv(file, query));
    TROUPE_TRY(values.add_unlabeled(file, read, has_classes(model)));
    rows.push_back(std::ssize(read.lines));
  }
  return std::make_shared<const TableDataset>(
      TableDataset::Columns{data.table.features, data.table.targets, std::move(used)},
      std::move(values).take());
}

} // namespace troupe::data
