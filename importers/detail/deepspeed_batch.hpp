/// The three numbers that define a batch. DeepSpeed derives the missing ones from the others.
#pragma once

#include "importers/rows.hpp"

#include <string>

namespace troupe {

struct ForeignBatch {
  std::int64_t total = 0; ///< 0: neither it nor a micro-batch is given
  std::int64_t accumulate = 1;
  std::string contradiction = {}; ///< why they do not match
};

ForeignBatch deepspeed_batch(const ForeignContext& context);

/// Derives the number of processes if all three are given; nothing else in the file states it.
ForeignWorld deepspeed_world(const ForeignDocument& document);

} // namespace troupe
