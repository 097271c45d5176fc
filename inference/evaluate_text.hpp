/// How well a language model foretells texts.
#pragma once

#include "core/error.hpp"
#include "data/tokens/token_dataset.hpp"
#include "inference/saved_model.hpp"
#include "training/platforms/platform.hpp"

#include <cmath>
#include <cstdint>

namespace troupe::inference {

/// Over the tokens of whole windows. Each is foretold by those of its window before it.
struct TextScore {
  std::int64_t windows = 0, tokens = 0;
  std::int64_t bytes = 0; ///< of the text that these tokens are; an end of a document has none
  double loss_sum = 0;    ///< of all tokens, in nats
  double seconds = 0;     ///< of computing them

  double loss() const { return loss_sum / static_cast<double>(tokens); }
  double perplexity() const { return std::exp(loss()); }
  /// Does not depend on the tokenizer (Gao et al., "The Pile", 2020, section 3.1). Not finite where
  /// the text has no byte.
  double bits_per_byte() const { return loss_sum / std::log(2.0) / static_cast<double>(bytes); }
  double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
};

/// The bytes that the windows' targets are. Errors: of TokenDataset::read; Errc::data for an id
/// that the tokenizer lacks.
Result<std::int64_t> bytes_of_targets(const data::TokenDataset& windows,
                                      const data::Tokenizer& tokenizer);

/// The loss is the one that a run of this config finds on the part of its texts that it holds back,
/// or on data.test_root. Blocks; the texts are tokenized first where they have not been. Errors: of
/// opening texts and tokenizer; of check_vocabulary; of Predictor; invalid_input for a model of no
/// tokens.
Result<TextScore> evaluate_text(const SavedModel& model, const training::SayLine& say = {});

} // namespace troupe::inference
