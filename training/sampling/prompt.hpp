/// The prompt of a language model, and samples of text during training (train.sample). A sample
/// equals the output of `troupe generate` with these options from a checkpoint of the same step.
#pragma once

#include "core/config/forward.hpp"
#include "core/error.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "training/sampling/sampling.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::training {

struct GenerateOptions {
  std::string prompt;        ///< empty: the token that documents start with
  std::int64_t tokens = 100; ///< at most
  SamplingOptions sampling = {};
};

/// A prompt as tokens of a config's model.
struct Prompt {
  data::TokenizerPtr tokenizer;
  std::vector<data::TokenId> tokens; ///< at least one
  std::int64_t places = 0; ///< positions for the prompt and all generated tokens but the last
};

/// Tokenizes a prompt. Blocks on the tokenizer's files. Errors: those of opening them;
/// invalid_input for a model that does not read tokens, and for a prompt that is too long or has
/// tokens outside the vocabulary.
Result<Prompt> read_prompt(const Config& config, const GenerateOptions& options);

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
