#include "generate.hpp"

#include "decoder.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/data/tokenizer/open.hpp"
#include "troupe/data/tokenizer/whole_characters.hpp"
#include "troupe/nn/models/models.hpp"
#include "troupe/nn/passes/cache_attention.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace troupe::engine {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>{Clock::now() - begin}.count();
}

std::vector<data::TokenId> encode(const data::TokenizerPtr& tokenizer, const std::string& prompt) {
  std::vector<data::TokenId> ids;
  data::Encoder{tokenizer}.encode(prompt, ids);
  if (ids.empty())
    ids.push_back(tokenizer->end_of_document());
  return ids;
}

/// For the prompt and what is fed of the answer: its last token is not.
Result<std::int64_t> places_for(const Config& config, std::int64_t prompt, std::int64_t tokens) {
  TROUPE_TRY(const auto graph,
             nn::build_model(config.model, {.input = nn::input_spec(config), .training = false}));
  const auto wanted = prompt + std::max<std::int64_t>(tokens, 1) - 1;
  const auto most = nn::most_places(graph).value_or(wanted);
  if (prompt > most)
    return fail(Errc::invalid_input, "the prompt has {} tokens, the model positions for {}", prompt,
                most);
  return std::min(wanted, most);
}

/// Hands on what the bytes of tokens are.
class TextStream {
public:
  TextStream(const data::Tokenizer& tokenizer, const TakeText& take)
      : tokenizer_{tokenizer}, take_{take} {}

  Status add(data::TokenId id) {
    TROUPE_TRY(tokenizer_.decode({&id, 1}, held_));
    return hand_on(data::whole_characters(held_));
  }
  /// What will not become a whole character any more, too.
  Status finish() { return hand_on(held_.size()); }

private:
  Status hand_on(std::size_t bytes) {
    if (bytes == 0)
      return {};
    TROUPE_TRY(take_(std::string_view{held_}.substr(0, bytes)));
    held_.erase(0, bytes);
    return {};
  }

  const data::Tokenizer& tokenizer_;
  const TakeText& take_;
  std::string held_;
};

/// Chooses tokens, and tells the model of them.
class Continuation {
public:
  Continuation(Decoder& decoder, const data::Tokenizer& tokenizer, const GenerateOptions& options,
               const TakeText& take)
      : decoder_{decoder}, tokenizer_{tokenizer}, wanted_{options.tokens},
        sampler_{options.sampling}, text_{tokenizer, take} {}

  Status run(Generated& result) {
    const auto begin = Clock::now();
    while (std::ssize(result.tokens) < wanted_) {
      const auto id = choose();
      result.tokens.push_back(id);
      if (id == tokenizer_.end_of_document()) {
        result.ending = Ending::document;
        break;
      }
      TROUPE_TRY(text_.add(id));
      if (std::ssize(result.tokens) == wanted_)
        break;
      if (decoder_.room() == 0) {
        result.ending = Ending::context;
        break;
      }
      TROUPE_TRY(decoder_.feed({&id, 1}));
    }
    result.seconds = seconds_since(begin);
    return text_.finish();
  }

private:
  /// A model's table may have more rows than there are tokens.
  data::TokenId choose() {
    const auto logits = decoder_.logits();
    const auto known = static_cast<std::size_t>(tokenizer_.vocabulary_size());
    return sampler_.choose(logits.first(std::min(logits.size(), known)));
  }

  Decoder& decoder_;
  const data::Tokenizer& tokenizer_;
  std::int64_t wanted_;
  Sampler sampler_;
  TextStream text_;
};

} // namespace

std::string_view to_string(Ending ending) {
  switch (ending) {
  case Ending::document:
    return "document";
  case Ending::context:
    return "context";
  case Ending::enough:
    break;
  }
  return "enough";
}

Result<Generated> generate(const SavedModel& model, const GenerateOptions& options,
                           const TakeText& take, const SayLine& say) {
  const auto& config = model.config;
  if (nn::input_spec(config).vocabulary == 0)
    return fail(Errc::invalid_input, "{} does not read tokens: ask `troupe predict`",
                config.model.name);
  TROUPE_TRY(const auto tokenizer,
             data::open_tokenizer(config.data.tokenizer, config.data.tokenizer_split));
  Generated result{.prompt = encode(tokenizer, options.prompt)};
  TROUPE_TRY(const auto places, places_for(config, std::ssize(result.prompt), options.tokens));
  TROUPE_TRY(const auto decoder, Decoder::create(model, places, say));
  if (const auto last = std::ranges::max(result.prompt); last >= std::ssize(decoder->logits()))
    return fail(Errc::invalid_input, "the prompt has token {}, the model's vocabulary {} tokens",
                last, decoder->logits().size());
  const auto begin = Clock::now();
  TROUPE_TRY(decoder->feed(result.prompt));
  result.prompt_seconds = seconds_since(begin);
  TROUPE_TRY(Continuation(*decoder, *tokenizer, options, take).run(result));
  return result;
}

} // namespace troupe::engine
