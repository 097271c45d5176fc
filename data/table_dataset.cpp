#include "table_dataset.hpp"

#include "detail/csv_file.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/sha256.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

namespace troupe::data {

namespace {

std::vector<std::string> class_names_of(const ModelConfig& model) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; model.loss == "cross_entropy" && i < model.num_classes; ++i)
    names.push_back(fmt::format("{}", i));
  return names;
}

/// `values`: rows of `width`, of which the features come first.
void apply(const Standardization& standard, std::size_t width, std::vector<float>& values) {
  for (std::size_t row = 0; row < values.size(); row += width)
    for (std::size_t f = 0; f < standard.mean.size(); ++f)
      values[row + f] =
          static_cast<float>((double{values[row + f]} - standard.mean[f]) / standard.deviation[f]);
}

class CsvOpener {
public:
  CsvOpener(const DataConfig& data, const ModelConfig& model)
      : data_{data}, model_{model}, features_{data.features.size()},
        width_{features_ + data.targets.size()}, classes_{model.loss == "cross_entropy"} {}

  Result<TablePtr> open(Split split) {
    TROUPE_TRY(check_targets());
    auto training = read(Split::train);
    if (!training)
      return failure(training.error());
    auto standard = data_.standardize ? standard_of(*training) : Standardization{};
    TROUPE_TRY(auto values, split == Split::train ? std::move(training) : read(split));
    apply(standard, width_, values);
    TROUPE_TRY(check_classes(split, values));
    return std::make_shared<const TableDataset>(TableDataset::Columns{data_.features, data_.targets,
                                                                      class_names_of(model_),
                                                                      std::move(standard)},
                                                std::move(values));
  }

private:
  std::filesystem::path file(Split split) const {
    return std::filesystem::path{data_.root} / fmt::format("{}.csv", to_string(split));
  }

  /// Reads the rows; of training rows only the first data.limit, also for what features are
  /// standardized by.
  Result<std::vector<float>> read(Split split) const {
    auto columns = data_.features;
    columns.insert(columns.end(), data_.targets.begin(), data_.targets.end());
    auto values = read_csv(file(split), columns);
    if (values && data_.limit && split == Split::train)
      values->resize(std::min(values->size(), static_cast<std::size_t>(*data_.limit) * width_));
    return values;
  }

  Status check_targets() const {
    const auto outputs = std::ssize(data_.targets);
    if (classes_ && outputs != 1)
      return fail(Errc::data,
                  "data.targets has {} columns, but cross_entropy takes one, the class; set "
                  "model.loss: mean_squared_error to predict numbers",
                  outputs);
    if (!classes_ && outputs != model_.num_classes)
      return fail(Errc::data,
                  "data.targets has {} columns, but the model has {} outputs: set "
                  "model.num_classes: {}",
                  outputs, model_.num_classes, outputs);
    return {};
  }

  Status check_classes(Split split, const std::vector<float>& values) const {
    for (std::size_t i = features_; classes_ && i < values.size(); i += width_)
      if (values[i] < 0 || std::trunc(values[i]) != values[i] ||
          values[i] >= static_cast<float>(model_.num_classes))
        return fail(Errc::data, "{}: column {}: row {} has {}, but classes are 0 to {}",
                    file(split).string(), data_.targets[0], i / width_ + 1, values[i],
                    model_.num_classes - 1);
    return {};
  }

  Standardization standard_of(const std::vector<float>& values) const {
    Standardization standard{std::vector<double>(features_), std::vector<double>(features_)};
    const auto count = values.size() / width_;
    const auto rows = static_cast<double>(count);
    const auto add = [&](std::vector<double>& sums, auto term) {
      for (std::size_t row = 0; row < values.size(); row += width_)
        for (std::size_t f = 0; f < features_; ++f)
          sums[f] += term(double{values[row + f]}, f) / rows;
    };
    add(standard.mean, [](double value, std::size_t) { return value; });
    add(standard.deviation, [&](double value, std::size_t f) {
      return (value - standard.mean[f]) * (value - standard.mean[f]);
    });
    for (auto& variance : standard.deviation)
      variance = variance > 0 ? std::sqrt(variance) : 1; // a column that never changes says nothing
    return standard;
  }

  const DataConfig& data_;
  const ModelConfig& model_;
  std::size_t features_, width_;
  bool classes_; ///< the target is a class, not a number
};

} // namespace

void TableDataset::add_content(Sha256& sha) const {
  for (const auto* names : {&columns_.features, &columns_.targets})
    for (const auto& name : *names)
      sha.update(name + '\n');
  sha.update(std::as_bytes(std::span{values_}));
}

Result<TablePtr> open_csv(const DataConfig& data, const ModelConfig& model, Split split) {
  return CsvOpener{data, model}.open(split);
}

Result<TablePtr> open_csv_rows(std::span<const std::filesystem::path> files, const DataConfig& data,
                               const ModelConfig& model, const Standardization& standardization,
                               std::vector<std::int64_t>& rows) {
  const auto features = data.features.size(), targets = data.targets.size();
  auto class_names = class_names_of(model);
  const float unknown = class_names.empty() ? std::numeric_limits<float>::quiet_NaN() : -1.0f;
  std::vector<float> values;
  for (const auto& file : files) {
    TROUPE_TRY(const auto read, read_csv(file, data.features));
    for (std::size_t at = 0; at < read.size(); at += features) {
      const auto row = std::span{read}.subspan(at, features);
      values.insert(values.end(), row.begin(), row.end());
      values.insert(values.end(), targets, unknown);
    }
    rows.push_back(static_cast<std::int64_t>(read.size() / features));
  }
  apply(standardization, features + targets, values);
  return std::make_shared<const TableDataset>(
      TableDataset::Columns{data.features, data.targets, std::move(class_names), standardization},
      std::move(values));
}

} // namespace troupe::data
