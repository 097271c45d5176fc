/// Shape of a language model, and its operations per token by the formula that others compare.
#pragma once

#include "core/config/config.hpp"
#include "core/error.hpp"

#include <cstdint>
#include <optional>

namespace troupe::bench {

struct LanguageShape {
  std::int64_t sequence = 0, layers = 0, width = 0, heads = 0, vocabulary = 0;
  std::int64_t kv_heads = 0;   ///< heads of keys and values, which heads of queries may share
  std::int64_t hidden = 0;     ///< between the linear layers of a block's MLP
  std::int64_t parameters = 0; ///< all
  /// 6 N + 12 * layers * width * sequence, where N lacks position embeddings and attention counts
  /// as if it were not causal: nanoGPT's estimate_mfu, after appendix B of Chowdhery et al.,
  /// "PaLM", 2022.
  double operations_per_token = 0;
};

/// Returns nullopt for models that take no tokens. Errors: those of nn::prepare_model.
Result<std::optional<LanguageShape>> language_shape(const Config& config);

} // namespace troupe::bench
