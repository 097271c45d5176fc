/// What families of language models share: sizes by name, the keys that change them, and layers.
#pragma once

#include "core/config/training.hpp"
#include "nn/models/family.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace troupe::nn {

struct LanguageSize {
  std::string_view name; ///< model.name
  std::int64_t layers, width, heads, kv_heads;
  std::int64_t intermediate; ///< width of the hidden layer of a block

  std::int64_t head_dim() const { return width / heads; }
};

/// The named size, with what the config changes of it. `sizes` has the name.
LanguageSize size_of_model(std::span<const LanguageSize> sizes, const ModelConfig& model);

/// Keys of all of them.
std::vector<ModelKey> language_keys(ModelConfig& model);

/// Heads that do not divide the width, or that cannot share keys and values; a vocabulary that
/// lacks tokens of the data.
ConfigConflicts language_conflicts(const LanguageSize& size, const ModelConfig& model,
                                   const InputSpec& input);

/// Weights begin as Hugging Face's models have them: normal with this deviation.
inline constexpr double initial_deviation = 0.02;

/// Rows of the table of tokens, of which the data may have fewer.
std::int64_t vocabulary_of(const ModelConfig& model, std::int64_t vocabulary_of_data);

/// The table that tokens are looked up in; `arguments` say how many rows it has.
TensorId embedding_table(const LanguageArguments& arguments, const std::string& name,
                         std::int64_t width);

/// The loss in the unit "head". `shared`: of a tied embedding's table; below 0: a weight of its
/// own, "lm_head.weight".
void add_language_head(const LanguageArguments& arguments, TensorId x, TensorId shared);

} // namespace troupe::nn
