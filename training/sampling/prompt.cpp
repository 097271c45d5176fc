#include "training/sampling/prompt.hpp"

#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "data/tokenizer/open.hpp"
#include "nn/models/models.hpp"
#include "nn/passes/cache_attention.hpp"

#include <algorithm>

namespace troupe::training {

namespace {

std::vector<data::TokenId> encode(const data::TokenizerPtr& tokenizer, const std::string& prompt) {
  std::vector<data::TokenId> ids;
  data::Encoder{tokenizer}.encode(prompt, ids);
  if (ids.empty())
    ids.push_back(tokenizer->end_of_document());
  return ids;
}

Result<std::int64_t> places_for(const Config& config, std::int64_t prompt, std::int64_t tokens) {
  TROUPE_TRY(const auto graph,
             nn::build_model(config.model, {.input = nn::input_spec(config), .training = false}));
  const auto wanted = prompt + std::max<std::int64_t>(tokens, 1) - 1;
  const auto most = nn::most_places(graph).value_or(wanted);
  if (prompt > most)
    return fail(Errc::invalid_input,
                "the prompt has {} tokens, but the model has only {} positions", prompt, most);
  return std::min(wanted, most);
}

} // namespace

Result<Prompt> read_prompt(const Config& config, const GenerateOptions& options) {
  const auto vocabulary = nn::input_spec(config).vocabulary;
  if (vocabulary == 0)
    return fail(Errc::invalid_input, "{} does not read tokens; use `troupe predict`",
                config.model.name);
  Prompt prompt;
  TROUPE_TRY(prompt.tokenizer,
             data::open_tokenizer(config.data.tokenizer.path, config.data.tokenizer.split));
  prompt.tokens = encode(prompt.tokenizer, options.prompt);
  if (const auto last = std::ranges::max(prompt.tokens); last >= vocabulary)
    return fail(Errc::invalid_input,
                "the prompt contains the token {}, but the model's vocabulary has only {} tokens",
                last, vocabulary);
  TROUPE_TRY(prompt.places, places_for(config, std::ssize(prompt.tokens), options.tokens));
  return prompt;
}

} // namespace troupe::training
