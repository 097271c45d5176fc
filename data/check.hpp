/// Reads all of a data set, before anything is trained on it.
#pragma once

#include "core/config/forward.hpp"
#include "core/device/augment_math.hpp"
#include "core/error.hpp"
#include "data/dataset.hpp"
#include "data/normalization.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::data {

struct SplitCheck {
  Split split = Split::train;
  std::string source;      ///< the folder, where there is one
  std::string sample_name; ///< "images", "rows", "sequences"
  std::int64_t samples = 0;
  std::vector<std::string> class_names;       ///< by label; empty where samples have no class
  std::vector<std::int64_t> per_class;        ///< samples that can be read, by label
  std::optional<Extent> least, largest;       ///< height and width, each by itself; of images
  std::optional<Normalization> normalization; ///< of images
  std::vector<std::string> unreadable;        ///< what is wrong with each file, which it names
  std::vector<std::string> damaged;           ///< the same of files that are read all the same
  LeftOut left_out;                           ///< files and folders beside the samples
};

/// Opens a split as training would and reads every sample, on data.loader_threads threads. Blocks.
/// Errors: of open_adapter; what is wrong with single samples is in the check.
Result<SplitCheck> check_split(const Config& config, Split split);

} // namespace troupe::data
