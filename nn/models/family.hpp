/// What a file of this folder, or of a program that is built with this library, says of the models
/// that it builds: all that is known of them.
#pragma once

#include "core/config/schema.hpp"
#include "core/config/validate.hpp"
#include "nn/builder.hpp"
#include "nn/models/hugging_face.hpp"
#include "nn/models/input.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn {

/// A key of the section model that some models take.
struct ModelKey {
  ConfigKey key; ///< its path is "model." and a name
  /// What is said of a model that does not take it, whose name stands for {}: "{} has no hidden
  /// layers".
  std::string_view elsewhere = "{} does not take it";
  /// There, another value than the default is refused; else a note says that it changes nothing.
  bool refused_elsewhere = true;
};

struct FeatureArguments {
  GraphBuilder& builder;
  TensorId input; ///< (N, sample...)
  const ModelConfig& model;
  bool training; ///< batch norm with the batch's statistics
};

struct LanguageArguments {
  GraphBuilder& builder;
  TensorId tokens, labels; ///< i32 (N, T); labels below 0 are ignored
  const ModelConfig& model;
  std::int64_t sequence;   ///< T
  std::int64_t vocabulary; ///< of the data
  float label_smoothing;
  TensorId dropout_keys = -1; ///< i32 (N, 2) (core/device/dropout_math.hpp); -1: nothing is dropped
};

/// Models that are built alike.
struct Family {
  std::vector<std::string> names; ///< of model.name
  std::string_view help;          ///< what they are, after their names
  bool images_only = false;       ///< samples are (H, W, C); else of any shape
  bool batch_norm = false;        ///< there is some
  /// The keys that not all models take, bound to the members of a config; null: it takes none.
  std::vector<ModelKey> (*keys)(ModelConfig& model) = nullptr;
  /// What does not fit together in values that their keys' rules allow; null: nothing.
  ConfigConflicts (*conflicts)(const ModelConfig& model, const InputSpec& input) = nullptr;
  /// Adds all layers but the classifier and begins the unit "head", to which that belongs. Gives
  /// the features (N, C) that it takes.
  TensorId (*add_features)(const FeatureArguments& arguments) = nullptr;
  /// Of a family that takes tokens, instead of it: adds all layers, the unit "head" with the loss
  /// last.
  void (*add_language_model)(const LanguageArguments& arguments) = nullptr;
  /// What Hugging Face calls the same; null: nothing. Keys have values that go together.
  HuggingFaceForm (*hugging_face)(const ModelConfig& model, const InputSpec& input) = nullptr;

  bool takes_tokens() const { return add_language_model != nullptr; }
};

/// The names in a table whose rows have one.
template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows)
    names.emplace_back(row.name);
  return names;
}

} // namespace troupe::nn
