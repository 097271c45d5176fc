/// The prompt of a language model.
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

} // namespace troupe::training
