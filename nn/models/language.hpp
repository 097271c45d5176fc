/// Sizes, keys and layers that families of language models share.
#pragma once

#include "core/config/model.hpp"
#include "nn/models/family.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace troupe::nn {

struct LanguageSize {
  std::string_view name; ///< model.name
  std::int64_t layers, width, heads, kv_heads;
  std::int64_t intermediate; ///< width of a block's hidden layer

  std::int64_t head_dim() const { return width / heads; }
  AttentionAttributes attention(std::int64_t sequence) const {
    return {.sequence = sequence, .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim()};
  }
};

/// Returns the named size, modified by the config. Precondition: `sizes` has the name.
LanguageSize size_of_model(std::span<const LanguageSize> sizes, const ModelConfig& model);

/// Returns the keys that all language models take.
std::vector<ModelKey> language_keys(ModelConfig& model);

/// Returns conflicts: heads that do not divide the width, heads that cannot share keys and values,
/// and a vocabulary that lacks tokens of the data.
ConfigConflicts language_conflicts(const LanguageSize& size, const ModelConfig& model,
                                   const InputSpec& input);

/// Weights begin normal with this deviation, as in Hugging Face's models.
inline constexpr double initial_deviation = 0.02;

/// Returns the number of rows in the token table; the data may have fewer tokens.
std::int64_t vocabulary_of(const ModelConfig& model, std::int64_t vocabulary_of_data);

/// Adds the table of token embeddings; `arguments` determine its number of rows.
TensorId embedding_table(const LanguageArguments& arguments, const std::string& name,
                         std::int64_t width);

/// Adds the loss in the unit "head". `shared` is the table of a tied embedding; if it is negative,
/// the head has a separate weight, "lm_head.weight".
void add_language_head(const LanguageArguments& arguments, TensorId x, TensorId shared);

} // namespace troupe::nn
