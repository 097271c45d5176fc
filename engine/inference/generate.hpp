/// A language model's continuation of a text, all of it.
#pragma once

#include "engine/inference/continuation.hpp"

namespace troupe::engine {

/// The prompt is no part of what `take` gets. Equal options give equal texts on a machine. Blocks.
/// Errors: as Continuation.
Result<Generated> generate(const SavedModel& model, const GenerateOptions& options,
                           const TakeText& take, const SayLine& say = {});

} // namespace troupe::engine
