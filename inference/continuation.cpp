#include "inference/continuation.hpp"

#include "core/fail.hpp"
#include "data/tokenizer/characters.hpp"

#include <algorithm>
#include <utility>

namespace troupe::inference {

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>{std::chrono::steady_clock::now() - begin}.count();
}

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

Continuation::Continuation(std::unique_ptr<Decoder> decoder, training::Prompt prompt,
                           const training::GenerateOptions& options, TakeText take)
    : decoder_{std::move(decoder)}, tokenizer_{prompt.tokenizer}, take_{std::move(take)},
      wanted_{options.tokens}, sampler_{options.sampling,
                                        prompt.tokenizer->parts().vocabulary.unused()} {
  result_.prompt = std::move(prompt.tokens);
}

Result<Continuation> Continuation::begin(const SavedModel& model,
                                         const training::GenerateOptions& options, TakeText take,
                                         const training::SayLine& say) {
  TROUPE_TRY(auto prompt, training::read_prompt(model.config, options));
  TROUPE_TRY(auto decoder, Decoder::create(model, prompt.places, say));
  Continuation begun{std::move(decoder), std::move(prompt), options, std::move(take)};
  TROUPE_TRY(begun.feed_prompt());
  return begun;
}

Status Continuation::feed_prompt() {
  begin_ = Clock::now();
  TROUPE_TRY(decoder_->feed(result_.prompt));
  result_.prompt_seconds = seconds_since(begin_);
  begin_ = Clock::now();
  return {};
}

Result<bool> Continuation::advance() {
  const auto id = choose();
  result_.tokens.push_back(id);
  if (id == tokenizer_->end_of_document())
    return finish(Ending::document);
  TROUPE_TRY(tokenizer_->decode({&id, 1}, held_));
  TROUPE_TRY(hand_on(data::whole_characters(held_)));
  if (std::ssize(result_.tokens) >= wanted_)
    return finish(Ending::enough);
  if (decoder_->room() == 0)
    return finish(Ending::context);
  TROUPE_TRY(decoder_->feed({&id, 1}));
  return true;
}

/// Excludes ids outside the vocabulary: a model's table may have more rows than there are tokens.
data::TokenId Continuation::choose() {
  const auto logits = decoder_->logits();
  const auto known = static_cast<std::size_t>(tokenizer_->vocabulary_size());
  return sampler_.choose(logits.first(std::min(logits.size(), known)));
}

Result<bool> Continuation::finish(Ending ending) {
  result_.ending = ending;
  result_.seconds = seconds_since(begin_);
  TROUPE_TRY(hand_on(held_.size())); // also the bytes of an incomplete last character
  return false;
}

Status Continuation::hand_on(std::size_t bytes) {
  if (bytes == 0)
    return {};
  TROUPE_TRY(take_(std::string_view{held_}.substr(0, bytes)));
  held_.erase(0, bytes);
  return {};
}

Result<Generated> generate(const SavedModel& model, const training::GenerateOptions& options,
                           const TakeText& take, const training::SayLine& say) {
  TROUPE_TRY(auto text, Continuation::begin(model, options, take, say));
  for (bool goes_on = true; goes_on;) {
    TROUPE_TRY(goes_on, text.advance());
  }
  return text.result();
}

} // namespace troupe::inference
