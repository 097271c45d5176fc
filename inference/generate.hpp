/// Generates a language model's whole continuation of a text.
#pragma once

#include "inference/continuation.hpp"

namespace troupe::inference {

/// `take` receives the text without the prompt. Equal options give equal texts on the same machine.
/// Blocks. Errors: those of Continuation.
Result<Generated> generate(const SavedModel& model, const training::GenerateOptions& options,
                           const TakeText& take, const training::SayLine& say = {});

} // namespace troupe::inference
