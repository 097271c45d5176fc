/// The three numbers of a batch, of which DeepSpeed makes those that are missing.
#pragma once

#include "importers/rows.hpp"

#include <string>

namespace troupe {

struct ForeignBatch {
  std::int64_t total = 0; ///< 0: neither it nor a micro-batch is given
  std::int64_t accumulate = 1;
  std::string contradiction = {}; ///< why they do not go together
};

ForeignBatch deepspeed_batch(const ForeignContext& context);

/// Processes, where all three are given: nothing else in the file says how many there are.
ForeignWorld deepspeed_world(const ForeignDocument& document);

} // namespace troupe
