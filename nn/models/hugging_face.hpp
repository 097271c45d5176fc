/// How Hugging Face's transformers writes a model down: what its config.json says, and what its
/// files of weights have otherwise than we do. Sources: modeling_gpt2.py, modeling_llama.py and the
/// configuration files beside them, of transformers 4 and 5.
#pragma once

#include "core/config/training.hpp"
#include "nn/models/input.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::nn {

using HuggingFaceValue = std::variant<bool, std::int64_t, double, std::string>;

/// A key of config.json that says what is computed.
struct HuggingFaceKey {
  std::string name;       ///< as it is written; "rope_parameters.rope_theta": within an object
  HuggingFaceValue value; ///< of the model here
  /// What a file means that lacks the key, or has null; none: it has to have it.
  std::optional<HuggingFaceValue> default_value = {};
  std::string_view ours = {};              ///< the key of our config; empty: there is no choice
  std::vector<std::string> elsewhere = {}; ///< its names in other versions
  std::vector<std::string> same = {};      ///< other words for the value
  bool is_written = true;                  ///< else it is only compared
};

struct HuggingFaceForm {
  std::string architecture;         ///< "GPT2LMHeadModel"
  std::vector<HuggingFaceKey> keys; ///< model_type first
  /// What is written and never compared: how somebody else would go on training, and how far.
  std::vector<std::pair<std::string, HuggingFaceValue>> written = {};
  std::string prefix; ///< of all names but the head's, which files of the bare model lack
  std::string table;  ///< the name of the embedding's weight
  /// Weights that are (in, out) there and (out, in) here; null: none.
  bool (*is_transposed)(std::string_view name) = nullptr;
  /// Tensors of older files that are no weights, and follow from the config.
  bool (*is_constant)(std::string_view name) = nullptr;
};

/// The head's weight, with its own name in all models; a tied one need not be in a file.
inline constexpr std::string_view hugging_face_head = "lm_head.weight";

/// None: transformers has nothing that computes the same.
std::optional<HuggingFaceForm> hugging_face_form(const ModelConfig& model, const InputSpec& input);

/// Names of the models that have a form.
std::vector<std::string> hugging_face_models(const ModelConfig& model);

} // namespace troupe::nn
