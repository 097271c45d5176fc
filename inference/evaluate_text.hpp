/// Measures how well a language model predicts text.
#pragma once

#include "core/error.hpp"
#include "inference/saved_model.hpp"
#include "training/platforms/platform.hpp"

#include <cmath>
#include <cstdint>

namespace troupe::inference {

/// Totals over the tokens of whole windows. Each token is predicted from the earlier tokens of its
/// window.
struct TextScore {
  std::int64_t windows = 0, tokens = 0;
  std::int64_t bytes = 0; ///< of the tokens' text; an end of document has none
  double loss_sum = 0;    ///< of all tokens, in nats
  double seconds = 0;     ///< of computing them

  double loss() const { return loss_sum / static_cast<double>(tokens); }
  double perplexity() const { return std::exp(loss()); }
  /// Does not depend on the tokenizer (Gao et al., "The Pile", 2020, section 3.1). Not finite if
  /// the text has no bytes.
  double bits_per_byte() const { return loss_sum / std::log(2.0) / static_cast<double>(bytes); }
  double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
};

/// Evaluates the model on the texts of data.validation. The loss equals the one that a run of this
/// config measures. Blocks, and tokenizes the texts first if necessary.
/// Errors: those of opening the texts and the tokenizer, of check_vocabulary and of Predictor;
/// invalid_input for a model that does not read tokens.
Result<TextScore> evaluate_text(const SavedModel& model, const training::SayLine& say = {});

} // namespace troupe::inference
