/// The config section model.
#pragma once

#include "core/choice.hpp"
#include "core/config/custom_values.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

namespace nn {
struct Family; // nn/models/family.hpp
}

enum class LossKind : std::uint8_t { cross_entropy, mean_squared_error };

template <>
inline constexpr auto choice_words<LossKind> = word_list("cross_entropy", "mean_squared_error");

/// The first layers of a ResNet.
enum class Stem : std::uint8_t { cifar, imagenet };

template <>
inline constexpr auto choice_words<Stem> = word_list("cifar", "imagenet");

/// The weight of a language model's head.
enum class HeadWeight : std::uint8_t {
  usual, ///< the model's default
  tied,  ///< the embedding's table
  own,
};

template <>
inline constexpr auto choice_words<HeadWeight> = word_list("usual", "tied", "own");

struct ModelConfig {
  std::string name; ///< Catalogue (catalogue.hpp) has the valid names and the default
  std::int64_t num_classes = 10;
  std::int64_t in_channels = 3;
  Stem stem = Stem::cifar;
  std::optional<std::int64_t> width;        ///< channels of the first stage; not set: the model's
  std::vector<std::int64_t> hidden = {512}; ///< widths of hidden layers
  bool bias = true;                         ///< of layers that multiply by a weight
  LossKind loss = LossKind::cross_entropy;
  std::vector<std::string> autocast_off; ///< modules that amp leaves in fp32
  std::optional<std::string> pretrained; ///< a safetensors file to take parameters from
  bool sync_batch_norm = false;          ///< statistics over all workers' batches
  /// Language models only. If not set, the named model's values apply, and the data's vocabulary.
  std::optional<std::int64_t> layers, heads, kv_heads, intermediate, positions, vocabulary;
  HeadWeight head = HeadWeight::usual;
  double rope_theta = 10000.0;            ///< base of the rotary positions' wavelengths
  double norm_epsilon = 1e-5;             ///< of a language model's norms: added to variances
  double dropout = 0;                     ///< rate, while a language model is trained
  CustomValues own;                       ///< values of custom models' keys
  CustomRows<nn::Family> custom_families; ///< the custom models

  bool operator==(const ModelConfig&) const = default;
};

} // namespace troupe
