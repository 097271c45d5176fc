/// A language model's continuation of a text, all of it.
#pragma once

#include "inference/continuation.hpp"

namespace troupe::inference {

/// The prompt is no part of what `take` gets. Equal options give equal texts on a machine. Blocks.
/// Errors: as Continuation.
Result<Generated> generate(const SavedModel& model, const training::GenerateOptions& options,
                           const TakeText& take, const training::SayLine& say = {});

} // namespace troupe::inference
