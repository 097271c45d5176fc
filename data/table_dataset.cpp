#include "table_dataset.hpp"

#include "detail/csv_file.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/sha256.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace troupe::data {

namespace {

/// What features are shifted and divided by.
struct Standard {
  std::vector<double> mean, deviation;
};

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
    const auto standard = standard_of(*training);
    TROUPE_TRY(auto values, split == Split::train ? std::move(training) : read(split));
    if (data_.standardize)
      apply(standard, values);
    TROUPE_TRY(check_classes(split, values));
    return std::make_shared<const TableDataset>(
        TableDataset::Columns{data_.features, data_.targets, class_names()}, std::move(values));
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

  std::vector<std::string> class_names() const {
    std::vector<std::string> names;
    for (std::int64_t i = 0; classes_ && i < model_.num_classes; ++i)
      names.push_back(fmt::format("{}", i));
    return names;
  }

  Standard standard_of(const std::vector<float>& values) const {
    Standard standard{std::vector<double>(features_), std::vector<double>(features_)};
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

  void apply(const Standard& standard, std::vector<float>& values) const {
    for (std::size_t row = 0; row < values.size(); row += width_)
      for (std::size_t f = 0; f < features_; ++f)
        values[row + f] = static_cast<float>((double{values[row + f]} - standard.mean[f]) /
                                             standard.deviation[f]);
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

} // namespace troupe::data
