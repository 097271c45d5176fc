// Conflicts of the data's keys, and of the model's keys with them.
#include "core/config/augmentation.hpp"
#include "core/config/custom_data_set.hpp"
#include "core/config/data_sets.hpp"
#include "core/config/model.hpp"
#include "core/config/validate.hpp"
#include "core/escape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

namespace troupe {

namespace {

/// Conflicts of a table's columns; other data sets must not set any.
ConfigConflicts validate_columns(const DataConfig& data) {
  ConfigConflicts found;
  const bool table = traits_of_data(data).sample == SampleKind::table_row;
  for (const auto& [key, columns] :
       {std::pair{"data.features", &data.features}, {"data.targets", &data.targets}})
    if (table == columns->empty())
      found.push_back({{key, "data.dataset"},
                       table ? fmt::format("dataset {} requires the names of columns", data.dataset)
                             : fmt::format("dataset {} has no columns", data.dataset),
                       table ? "a list of names" : "dataset csv"});
  if (!table && data.delimiter != DataConfig{}.delimiter)
    found.push_back({{"data.delimiter", "data.dataset"},
                     fmt::format("dataset {} has no cells to separate", data.dataset),
                     "dataset csv"});
  std::map<std::string_view, int> times;
  for (const auto* columns : {&data.features, &data.targets})
    for (const auto& name : *columns)
      if (++times[name] == 2)
        found.push_back({{"data.features", "data.targets"},
                         fmt::format("column {} is listed twice", echoed(name)),
                         "no duplicates"});
  return found;
}

/// Conflicts of the sizes to which images are cropped and resized.
ConfigConflicts validate_sizes(const DataConfig& data) {
  ConfigConflicts found;
  if (has_augmentation(data, Augmentation::crop) && data.image_size < 8)
    found.push_back(
        {{"data.augment", "data.image_size"},
         fmt::format("crop shifts by an eighth, which is less than a pixel for image_size {}",
                     data.image_size),
         "no crop, or an image_size of at least 8"});
  if (has_augmentation(data, Augmentation::crop) &&
      has_augmentation(data, Augmentation::resized_crop))
    found.push_back({{"data.augment"}, "crop and resized_crop cannot be combined", "one of them"});
  if (data.eval_resize && *data.eval_resize < data.image_size)
    found.push_back({{"data.eval_resize", "data.image_size"},
                     fmt::format("a centre of {} cannot be cropped from a side of {}",
                                 data.image_size, *data.eval_resize),
                     fmt::format("at least {}", data.image_size)});
  return found;
}

/// Conflicts of keys that only images have.
ConfigConflicts validate_no_images(const DataConfig& data) {
  const bool table = traits_of_data(data).sample == SampleKind::table_row;
  const std::string what = table ? "rows of a table" : "samples that are not images";
  ConfigConflicts found;
  const auto refuse = [&](const char* key, bool is_set, std::string_view why, const char* allowed) {
    if (is_set)
      found.push_back({{key, "data.dataset"}, fmt::format("{} {}", what, why), allowed});
  };
  refuse("data.augment", !data.augment.empty(), "cannot be augmented", "[]");
  refuse("data.eval_resize", data.eval_resize.has_value(), "have no size", "not set");
  refuse("data.normalize", data.normalize != NormalizeConfig{},
         table ? "are normalized by data.standardize" : "are not normalized", "null");
  return found;
}

ConfigConflicts validate_normalization(const NormalizeConfig& normalize, std::int64_t channels) {
  const auto& [mean, deviation] = normalize;
  if (mean.size() != deviation.size())
    return {{{"data.normalize"},
             fmt::format("{} means and {} standard deviations", mean.size(), deviation.size()),
             "the same number of both"}};
  if (!mean.empty() && std::ssize(mean) != channels)
    return {{{"data.normalize", "model.in_channels"},
             fmt::format("{} numbers for {} channel{}", mean.size(), channels,
                         channels == 1 ? "" : "s"),
             "one number per channel"}};
  return {};
}

} // namespace

ConfigConflicts validate(const ModelConfig& model, const DataConfig& data) {
  ConfigConflicts found;
  if (const auto known = traits_of_data(data); known.classes > 0) {
    if (model.num_classes != known.classes)
      found.push_back(
          {{"model.num_classes", "data.dataset"},
           fmt::format("{} classes, but {} has {}", model.num_classes, known.name, known.classes),
           std::to_string(known.classes)});
    // Grey images are replicated for a model that takes colour; colour images are not converted to
    // grey.
    if (model.in_channels < known.channels)
      found.push_back({{"model.in_channels", "data.dataset"},
                       fmt::format("images of {} have {} channels", known.name, known.channels),
                       std::to_string(known.channels)});
  }
  if (model.in_channels == 2)
    found.push_back({{"model.in_channels"}, "no image has 2 channels", "1, 3"});
  if (traits_of_data(data).sample == SampleKind::image)
    std::ranges::move(validate_normalization(data.normalize, model.in_channels),
                      std::back_inserter(found));
  return found;
}

ConfigConflicts validate(const DataConfig& data) {
  ConfigConflicts found;
  if (traits_of_data(data).files && data.root.empty())
    found.push_back({{"data.root", "data.dataset"},
                     fmt::format("dataset {} requires the folder of its files", data.dataset),
                     "a folder; tools/fetch-data downloads data sets"});
  std::ranges::move(validate_columns(data), std::back_inserter(found));
  std::ranges::move(unused_custom_keys(data), std::back_inserter(found));
  if (traits_of_data(data).sample != SampleKind::image)
    std::ranges::move(validate_no_images(data), std::back_inserter(found));
  std::ranges::move(validate_sizes(data), std::back_inserter(found));
  std::map<Augmentation, int> times;
  for (const auto augmentation : data.augment)
    if (++times[augmentation] == 2) // reported once, however often it occurs
      found.push_back({{"data.augment"},
                       fmt::format("{} is listed twice", to_string(augmentation)),
                       "no duplicates"});
  const auto samples =
      data.dataset == "synthetic" ? std::optional{data.synthetic_samples()} : data.limit;
  if (data.drop_last && samples && *samples < data.batch_size)
    found.push_back(
        {{"data.limit", "data.batch_size", "data.drop_last"},
         fmt::format("{} samples do not fill a batch of {}, and drop_last skips incomplete batches",
                     *samples, data.batch_size),
         fmt::format("at least {}, or drop_last: false", data.batch_size)});
  return found;
}

} // namespace troupe
