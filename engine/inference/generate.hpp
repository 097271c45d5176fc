/// A language model's continuation of a text.
#pragma once

#include "sampling.hpp"
#include "saved_model.hpp"

#include "../platforms/platform.hpp"

#include "troupe/core/error.hpp"
#include "troupe/data/tokenizer/vocabulary.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::engine {

struct GenerateOptions {
  std::string prompt;        ///< empty: what documents begin with
  std::int64_t tokens = 100; ///< at most
  SamplingOptions sampling = {};
};

/// Why no more tokens came.
enum class Ending : std::uint8_t {
  enough,   ///< there are as many as were asked for
  document, ///< the model has ended the document
  context,  ///< the model has no positions for more
};
std::string_view to_string(Ending ending);

struct Generated {
  std::vector<data::TokenId> prompt, tokens; ///< tokens: with the end of the document
  double prompt_seconds = 0, seconds = 0;    ///< of computing them
  Ending ending = Ending::enough;

  double prompt_tokens_per_second() const { return rate(prompt, prompt_seconds); }
  double tokens_per_second() const { return rate(tokens, seconds); }

private:
  static double rate(const std::vector<data::TokenId>& ids, double time) {
    return time > 0 ? static_cast<double>(ids.size()) / time : 0;
  }
};

/// Gets the text piece by piece: characters are whole, but for what ends in the middle of one.
using TakeText = std::function<Status(std::string_view piece)>;

/// The prompt is no part of what `take` gets. Equal options give equal texts on a machine. Blocks.
/// Errors: of opening the tokenizer; of Decoder, and invalid_input for a prompt that the model has
/// no positions or no tokens for; those of `take`.
Result<Generated> generate(const SavedModel& model, const GenerateOptions& options,
                           const TakeText& take, const SayLine& say = {});

} // namespace troupe::engine
