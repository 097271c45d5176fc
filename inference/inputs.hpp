/// Inputs of predictions: files, or a split of the model's data set.
#pragma once

#include "data/adapter.hpp"
#include "inference/saved_model.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace troupe::inference {

struct Inputs {
  data::AdapterPtr adapter; ///< makes samples as evaluation does
  /// Returns a sample's name for people: its file, "table.csv:3" (rows count from 1) or "test:3"
  /// (samples count from 0).
  std::function<std::string(std::int64_t sample)> name;
  std::vector<std::string> notes = {}; ///< about files that are not read
};

/// Opens files. For a model of images: image files, and folders with all images below them. For a
/// table: CSV files, which may lack the target columns. Does not read images yet. Errors: data (a
/// path that does not exist, a folder without images, an invalid table); invalid_input if a table's
/// standardization is unknown.
Result<Inputs> open_inputs(const SavedModel& model, std::span<const std::filesystem::path> paths);

/// Opens a split of the config's data set, without augmentation. Errors: as open_adapter.
Result<Inputs> open_split(const SavedModel& model, data::Split split);

} // namespace troupe::inference
