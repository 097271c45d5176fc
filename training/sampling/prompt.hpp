/// What a language model is asked to go on with.
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
  std::string prompt;        ///< empty: what documents begin with
  std::int64_t tokens = 100; ///< at most
  SamplingOptions sampling = {};
};

/// As the model of a config reads it.
struct Prompt {
  data::TokenizerPtr tokenizer;
  std::vector<data::TokenId> tokens; ///< at least one
  std::int64_t places = 0;           ///< for these and what is fed of the answer: its last is not
};

/// Blocks on the tokenizer's files. Errors: of opening them; invalid_input for a model that does
/// not read tokens, and for a prompt that it has no positions or no tokens for.
Result<Prompt> read_prompt(const Config& config, const GenerateOptions& options);

} // namespace troupe::training
