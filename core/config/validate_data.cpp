// Conflicts of the data's keys, and of the model's keys with them.
#include "core/config/augmentation.hpp"
#include "core/config/custom_data_set.hpp"
#include "core/config/data_sets.hpp"
#include "core/config/detail/check.hpp"
#include "core/escape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

namespace troupe {

namespace {

/// Conflicts of a table's columns; other data sets must not set any.
void check_columns(ConfigCheck& check) {
  const auto& data = check.config.data;
  const auto& [features, targets, standardize, delimiter] = data.table;
  const bool table = traits_of_data(data).sample == SampleKind::table_row;
  for (const auto& [key, columns] :
       {std::pair{"data.table.features", &features}, {"data.table.targets", &targets}})
    if (table == columns->empty())
      check.refuse({key, "data.table", "data.dataset"},
                   table ? fmt::format("dataset {} requires the names of columns", data.dataset)
                         : fmt::format("dataset {} has no columns", data.dataset),
                   table ? "a list of names" : "dataset csv");
  if (!table && delimiter != TableConfig{}.delimiter)
    check.refuse({"data.table.delimiter", "data.table", "data.dataset"},
                 fmt::format("dataset {} has no cells to separate", data.dataset), "dataset csv");
  std::map<std::string_view, int> times;
  for (const auto* columns : {&features, &targets})
    for (const auto& name : *columns)
      if (++times[name] == 2)
        check.refuse({"data.table"}, fmt::format("column {} is listed twice", echoed(name)),
                     "no duplicates");
}

/// Conflicts of the sizes to which images are cropped and resized.
void check_sizes(ConfigCheck& check) {
  const auto& data = check.config.data;
  if (has_augmentation(data, Augmentation::crop) && data.image_size < 8)
    check.refuse(
        {"data.augment", "data.image_size"},
        fmt::format("crop shifts by an eighth, which is less than a pixel for image_size {}",
                    data.image_size),
        "no crop, or an image_size of at least 8");
  if (has_augmentation(data, Augmentation::crop) &&
      has_augmentation(data, Augmentation::resized_crop))
    check.refuse({"data.augment"}, "crop and resized_crop cannot be combined", "one of them");
  if (data.eval_resize && *data.eval_resize < data.image_size)
    check.refuse({"data.image_size.eval_resize", "data.image_size"},
                 fmt::format("a centre of {} cannot be cropped from a side of {}", data.image_size,
                             *data.eval_resize),
                 fmt::format("at least {}", data.image_size));
}

/// Conflicts of keys that only images have.
void check_no_images(ConfigCheck& check) {
  const auto& data = check.config.data;
  const bool table = traits_of_data(data).sample == SampleKind::table_row;
  const std::string what = table ? "rows of a table" : "samples that are not images";
  const auto refuse = [&](const char* key, bool is_set, std::string_view why, const char* allowed) {
    if (is_set)
      check.refuse({key, "data.dataset"}, fmt::format("{} {}", what, why), allowed);
  };
  refuse("data.augment", !data.augment.empty(), "cannot be augmented", "[]");
  refuse("data.image_size.eval_resize", data.eval_resize.has_value(), "have no size", "not set");
  refuse("data.normalize", data.normalize != NormalizeConfig{},
         table ? "are normalized by data.table.standardize" : "are not normalized", "null");
}

void check_normalization(ConfigCheck& check) {
  const auto& [mean, deviation] = check.config.data.normalize;
  const auto channels = check.config.model.in_channels;
  if (mean.size() != deviation.size())
    check.refuse({"data.normalize"},
                 fmt::format("{} means and {} standard deviations", mean.size(), deviation.size()),
                 "the same number of both");
  else if (!mean.empty() && std::ssize(mean) != channels)
    check.refuse(
        {"data.normalize", "model.in_channels"},
        fmt::format("{} numbers for {} channel{}", mean.size(), channels, channels == 1 ? "" : "s"),
        "one number per channel");
}

/// Conflicts of the model's input and output with the data.
void check_fit(ConfigCheck& check) {
  const auto& model = check.config.model;
  const auto& data = check.config.data;
  if (const auto known = traits_of_data(data); known.classes > 0) {
    if (model.num_classes != known.classes)
      check.refuse(
          {"model.num_classes", "data.dataset"},
          fmt::format("{} classes, but {} has {}", model.num_classes, known.name, known.classes),
          std::to_string(known.classes));
    // Grey images are replicated for a model that takes colour; colour images are not converted to
    // grey.
    if (model.in_channels < known.channels)
      check.refuse({"model.in_channels", "data.dataset"},
                   fmt::format("images of {} have {} channels", known.name, known.channels),
                   std::to_string(known.channels));
  }
  if (model.in_channels == 2)
    check.refuse({"model.in_channels"}, "no image has 2 channels", "1, 3");
  if (traits_of_data(data).sample == SampleKind::image)
    check_normalization(check);
}

} // namespace

void check_data(ConfigCheck& check) {
  const auto& data = check.config.data;
  check_fit(check);
  if (traits_of_data(data).files && data.root.empty())
    check.refuse({"data.root", "data.dataset"},
                 fmt::format("dataset {} requires the folder of its files", data.dataset),
                 "a folder; tools/fetch-data downloads data sets");
  check_columns(check);
  std::ranges::move(unused_custom_keys(data), std::back_inserter(check.found));
  if (traits_of_data(data).sample != SampleKind::image)
    check_no_images(check);
  check_sizes(check);
  std::map<Augmentation, int> times;
  for (const auto augmentation : data.augment)
    if (++times[augmentation] == 2) // reported once, however often it occurs
      check.refuse({"data.augment"}, fmt::format("{} is listed twice", to_string(augmentation)),
                   "no duplicates");
  const auto samples =
      data.dataset == "synthetic" ? std::optional{data.synthetic_samples()} : data.limit;
  if (data.drop_last && samples && *samples < data.batch_size)
    check.refuse(
        {"data.limit", "data.batch_size", "data.drop_last"},
        fmt::format("{} samples do not fill a batch of {}, and drop_last skips incomplete batches",
                    *samples, data.batch_size),
        fmt::format("at least {}, or drop_last: false", data.batch_size));
}

} // namespace troupe
