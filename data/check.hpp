/// Reads every sample of a data set to check it before training.
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
  std::string source;      ///< the data set's folder; empty if it has none
  std::string sample_name; ///< "images", "rows", "sequences"
  std::int64_t samples = 0;
  std::vector<std::string> class_names;       ///< by label; empty if samples have no class
  std::vector<std::int64_t> per_class;        ///< readable samples, by label
  std::optional<Extent> least, largest;       ///< height and width, each by itself; images only
  std::optional<Normalization> normalization; ///< images only
  std::vector<std::string> unreadable; ///< one message per unreadable file, which names the file
  std::vector<std::string> damaged;    ///< one message per damaged file that was read nevertheless
  LeftOut left_out;                    ///< files and folders that are not samples
};

/// Opens a split as training does and reads every sample on data.loader_threads threads. Blocks.
/// Errors: those of open_adapter. Problems of single samples are in the returned check.
Result<SplitCheck> check_split(const Config& config, Split split);

} // namespace troupe::data
