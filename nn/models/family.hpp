/// Description of a model family: everything that the program knows about its models. A file of
/// this folder, or a program that links this library, provides it.
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
  ConfigKey key; ///< its path is "model.NAME"
  /// Text about a model that does not take the key; {} stands for the model's name: "{} has no
  /// hidden layers".
  std::string_view elsewhere = "{} does not take it";
  /// Whether such a model refuses a value other than the default. If false, a note reports that it
  /// has no effect.
  bool refused_elsewhere = true;
};

struct FeatureArguments {
  GraphBuilder& builder;
  TensorId input; ///< (N, sample...)
  const ModelConfig& model;
  bool training; ///< batch norm uses the batch's statistics
};

struct LanguageArguments {
  GraphBuilder& builder;
  TensorId tokens, labels; ///< i32 (N, T); labels below 0 are ignored
  const ModelConfig& model;
  std::int64_t sequence;   ///< T
  std::int64_t vocabulary; ///< vocabulary size of the data
  float label_smoothing;
  TensorId dropout_keys = -1; ///< i32 (N, 2) (core/device/dropout_math.hpp); -1: no dropout
};

/// Models with the same construction.
struct Family {
  std::vector<std::string> names; ///< values of model.name
  std::string_view help;          ///< text after the names in the help
  bool images_only = false;       ///< samples are (H, W, C); otherwise any shape
  bool batch_norm = false;        ///< the models contain batch norm
  /// Keys that only some models take, bound to the members of a config; null: none.
  std::vector<ModelKey> (*keys)(ModelConfig& model) = nullptr;
  /// Returns conflicts between values that the keys' rules allow; null: none exist.
  ConfigConflicts (*conflicts)(const ModelConfig& model, const InputSpec& input) = nullptr;
  /// Adds all layers except the classifier and begins the unit "head", which contains the
  /// classifier. Returns the features (N, C) that it takes.
  TensorId (*add_features)(const FeatureArguments& arguments) = nullptr;
  /// Replaces add_features in a family that takes tokens: adds all layers, ending with the unit
  /// "head", which contains the loss.
  void (*add_language_model)(const LanguageArguments& arguments) = nullptr;
  /// Returns the equivalent Hugging Face model; null: none exists. Precondition: the keys have no
  /// conflicts.
  HuggingFaceForm (*hugging_face)(const ModelConfig& model, const InputSpec& input) = nullptr;

  bool takes_tokens() const { return add_language_model != nullptr; }
};

/// Returns the names of a table's rows.
template <class Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows)
    names.emplace_back(row.name);
  return names;
}

} // namespace troupe::nn
