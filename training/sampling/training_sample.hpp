/// Samples of text during training (train.sample). A sample equals the output of `troupe generate`
/// with these options from a checkpoint of the same step.
#pragma once

#include "training/sampling/prompt.hpp"

#include <cstdint>

namespace troupe::training {

/// Returns the config for generating: one host thread, in fp32. Samples are therefore the same for
/// every strategy, and generating takes no time of training devices.
Config sample_config(const Config& training);

/// Returns the options of the sample after `steps` steps. Each sample has another seed, which
/// depends only on the run's seed and the step.
GenerateOptions sample_options(const Config& training, std::int64_t steps);

/// Checks that samples can be generated, if the config asks for them. Blocks on the tokenizer's
/// files.
Status check_sample(const Config& training);

} // namespace troupe::training
