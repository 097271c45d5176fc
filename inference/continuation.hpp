/// Continues a text with a language model, token by token, so that the caller can stop or do other
/// work in between.
#pragma once

#include "inference/decoder.hpp"
#include "training/sampling/prompt.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::inference {

/// Why generation ended.
enum class Ending : std::uint8_t {
  enough,   ///< the requested number of tokens is generated
  document, ///< the model ended the document
  context,  ///< the model has no further positions
};
std::string_view to_string(Ending ending);

struct Generated {
  std::vector<data::TokenId> prompt, tokens; ///< tokens: with the end of the document
  double prompt_seconds = 0, seconds = 0;    ///< time of computing them
  Ending ending = Ending::enough;

  double prompt_tokens_per_second() const { return rate(prompt, prompt_seconds); }
  double tokens_per_second() const { return rate(tokens, seconds); }

private:
  static double rate(const std::vector<data::TokenId>& ids, double time) {
    return time > 0 ? static_cast<double>(ids.size()) / time : 0;
  }
};

/// Receives the text in chunks of whole characters, except that the last may end inside one.
using TakeText = std::function<Status(std::string_view chunk)>;

class Continuation {
public:
  /// Reads the prompt. `model` is not used afterwards. Blocks. Errors: those of read_prompt and
  /// Decoder.
  static Result<Continuation> begin(const SavedModel& model,
                                    const training::GenerateOptions& options, TakeText take,
                                    const training::SayLine& say = {});

  /// Generates a token. Returns whether more will follow. Blocks. Errors: those of Decoder and
  /// `take`.
  Result<bool> advance();
  const Generated& result() const { return result_; }

private:
  using Clock = std::chrono::steady_clock;

  Continuation(std::unique_ptr<Decoder> decoder, training::Prompt prompt,
               const training::GenerateOptions& options, TakeText take);
  Status feed_prompt();
  data::TokenId choose();
  Result<bool> finish(Ending ending);
  /// Passes on the first `bytes` bytes of the text held.
  Status hand_on(std::size_t bytes);

  std::unique_ptr<Decoder> decoder_;
  data::TokenizerPtr tokenizer_;
  TakeText take_;
  std::int64_t wanted_;
  training::Sampler sampler_;
  std::string held_; ///< text that is not passed on yet
  Generated result_;
  Clock::time_point begin_;
};

/// Generates the whole continuation of a text. `take` receives the text without the prompt. Equal
/// options give equal texts on the same machine. Blocks. Errors: those of Continuation.
Result<Generated> generate(const SavedModel& model, const training::GenerateOptions& options,
                           const TakeText& take, const training::SayLine& say = {});

} // namespace troupe::inference
