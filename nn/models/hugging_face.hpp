/// Hugging Face transformers' representation of a model: its config.json, and the layout of its
/// weight files where it differs from ours. Sources: modeling_gpt2.py, modeling_llama.py and the
/// configuration files beside them, of transformers 4 and 5.
#pragma once

#include "core/config/model.hpp"
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

/// A key of config.json that affects the computation.
struct HuggingFaceKey {
  std::string name;       ///< name in the file; "rope_parameters.rope_theta": member of an object
  HuggingFaceValue value; ///< value for the model here
  /// Value if the file lacks the key or has null; empty: the key is required.
  std::optional<HuggingFaceValue> default_value = {};
  std::string_view ours = {};              ///< corresponding key of our config; empty: no choice
  std::vector<std::string> elsewhere = {}; ///< names in other versions
  std::vector<std::string> same = {};      ///< synonyms of the value
  bool is_written = true;                  ///< false: only compared
};

struct HuggingFaceForm {
  std::string architecture;         ///< "GPT2LMHeadModel"
  std::vector<HuggingFaceKey> keys; ///< model_type first
  /// Keys that are written but never compared: settings for further training, and its maximum
  /// length.
  std::vector<std::pair<std::string, HuggingFaceValue>> written = {};
  std::string prefix; ///< prefix of all names except the head's; files of the bare model lack it
  std::string table;  ///< name of the embedding's weight
  /// Returns whether a weight is (in, out) there and (out, in) here; null: no weight is.
  bool (*is_transposed)(std::string_view name) = nullptr;
  /// Returns whether a tensor of an older file is not a weight but follows from the config.
  bool (*is_constant)(std::string_view name) = nullptr;
};

/// The head's weight, with the same name in all models. A file may lack it if it is tied.
inline constexpr std::string_view hugging_face_head = "lm_head.weight";

/// Returns nothing if transformers has no model with the same computation.
std::optional<HuggingFaceForm> hugging_face_form(const ModelConfig& model, const InputSpec& input);

/// Returns the names of the models that have a form.
std::vector<std::string> hugging_face_models(const ModelConfig& model);

} // namespace troupe::nn
