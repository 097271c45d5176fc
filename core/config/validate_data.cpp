// Conflicts of the data's keys, and of the model's with them.
#include "validate.hpp"

#include "../printable.hpp"
#include "data_sets.hpp"
#include "own_data_set.hpp"
#include "training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace troupe {

namespace {

/// Conflicts of a table's columns; no other data set has any.
ConfigConflicts validate_columns(const DataConfig& data) {
  ConfigConflicts found;
  const auto kind = facts_of_data(data).sample;
  const bool table = kind == SampleKind::table_row;
  for (const auto& [key, columns] :
       {std::pair{"data.features", &data.features}, {"data.targets", &data.targets}})
    if (table == columns->empty())
      found.push_back({{key, "data.dataset"},
                       table ? fmt::format("dataset {} needs the names of columns", data.dataset)
                             : fmt::format("dataset {} has no columns", data.dataset),
                       table ? "a list of names" : "dataset csv"});
  std::map<std::string_view, int> times;
  for (const auto* columns : {&data.features, &data.targets})
    for (const auto& name : *columns)
      if (++times[name] == 2)
        found.push_back({{"data.features", "data.targets"},
                         fmt::format("column {} is there twice", echoed(name)),
                         "each once"});
  if (kind != SampleKind::image && !data.augment.empty())
    found.push_back({{"data.augment", "data.dataset"},
                     fmt::format("{} cannot be augmented",
                                 table ? "rows of a table" : "samples that are no images"),
                     "[]"});
  return found;
}

} // namespace

ConfigConflicts validate(const ModelConfig& model, const DataConfig& data) {
  ConfigConflicts found;
  if (const auto known = facts_of_data(data); known.classes > 0) {
    if (model.num_classes != known.classes)
      found.push_back(
          {{"model.num_classes", "data.dataset"},
           fmt::format("{} classes, but {} has {}", model.num_classes, known.name, known.classes),
           std::to_string(known.classes)});
    // Grey images are replicated for a model that takes colour, not the other way round.
    if (model.in_channels < known.channels)
      found.push_back({{"model.in_channels", "data.dataset"},
                       fmt::format("images of {} have {} channels", known.name, known.channels),
                       std::to_string(known.channels)});
  }
  if (model.in_channels == 2)
    found.push_back({{"model.in_channels"}, "no image has 2 channels", "1, 3"});
  return found;
}

ConfigConflicts validate(const DataConfig& data) {
  ConfigConflicts found;
  const bool synthetic = data.dataset == "synthetic";
  if (facts_of_data(data).files && data.root.empty())
    found.push_back({{"data.root", "data.dataset"},
                     fmt::format("dataset {} needs the folder of its files", data.dataset),
                     "a folder; tools/fetch-data fills one"});
  std::ranges::move(validate_columns(data), std::back_inserter(found));
  std::ranges::move(unused_own_keys(data), std::back_inserter(found));
  const bool crops =
      std::find(data.augment.begin(), data.augment.end(), "crop") != data.augment.end();
  if (crops && data.image_size < 8)
    found.push_back({{"data.augment", "data.image_size"},
                     fmt::format("crop shifts by an eighth, which is nothing for image_size {}",
                                 data.image_size),
                     "crop for an image_size of at least 8"});
  std::map<std::string_view, int> times;
  for (const auto& name : data.augment)
    if (++times[name] == 2) // said once, however often it is there
      found.push_back({{"data.augment"}, fmt::format("{} is there twice", name), "each once"});
  if (data.drop_last && data.limit && *data.limit < data.batch_size)
    found.push_back(
        {{"data.limit", "data.batch_size", "data.drop_last"},
         fmt::format("{} samples make no batch of {}, and drop_last leaves the rest out",
                     *data.limit, data.batch_size),
         fmt::format("at least {}, or drop_last: false", data.batch_size)});
  else if (data.drop_last && synthetic && data.synthetic_samples < data.batch_size)
    found.push_back(
        {{"data.synthetic_samples", "data.batch_size", "data.drop_last"},
         fmt::format("{} samples make no batch of {}, and drop_last leaves the rest out",
                     data.synthetic_samples, data.batch_size),
         fmt::format("at least {}, or drop_last: false", data.batch_size)});
  return found;
}

} // namespace troupe
