/// What a model is asked about: files, or a split of its data set.
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
  data::AdapterPtr adapter; ///< what evaluation makes of the samples
  /// What a person calls a sample: its file, "table.csv:3" (rows count from 1) or "test:3" (samples
  /// count from 0).
  std::function<std::string(std::int64_t sample)> name;
  std::vector<std::string> notes = {}; ///< about files that are not read
};

/// Of a model of images: image files, and folders, with all below them. Of a table's rows: CSV
/// files, which need not have the targets' columns. Images are not read yet. Errors: data (a path
/// that is not there, a folder without images, a wrong table); invalid_input where a table's
/// standardization is not known.
Result<Inputs> open_inputs(const SavedModel& model, std::span<const std::filesystem::path> paths);

/// The samples of the config's data set, without augmentation. Errors: as open_adapter.
Result<Inputs> open_split(const SavedModel& model, data::Split split);

} // namespace troupe::inference
