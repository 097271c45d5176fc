/// What a language model writes as it is trained (train.sample): what `troupe generate` would
/// print, asked with these options about a checkpoint of the same step.
#pragma once

#include "training/sampling/prompt.hpp"

#include <cstdint>

namespace troupe::training {

/// Of who writes: one thread of the host, in fp32, whatever trains the model. So a sample is the
/// same for every strategy, and no device that trains is asked.
Config sample_config(const Config& training);

/// After so many steps. Each sample has a seed of its own, which follows from the run's alone.
GenerateOptions sample_options(const Config& training, std::int64_t steps);

/// Whether samples can be written, where some are asked for. Blocks on the tokenizer's files.
/// Errors: as read_prompt, with the key.
Status check_sample(const Config& training);

} // namespace troupe::training
