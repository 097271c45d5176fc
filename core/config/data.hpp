/// The config section data.
#pragma once

#include "core/choice.hpp"
#include "core/config/custom_values.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct CustomDataSet;

/// Random changes to training images.
enum class Augmentation : std::uint8_t {
  crop,         ///< shifts by up to an eighth
  resized_crop, ///< crops and resizes
  flip,         ///< mirrors
};

template <>
inline constexpr auto choice_words<Augmentation> = word_list("crop", "resized_crop", "flip");

/// How many slices each worker gets.
enum class SliceBalance : std::uint8_t {
  even,
  speed, ///< more for faster workers
};

template <>
inline constexpr auto choice_words<SliceBalance> = word_list("even", "speed");

/// The memory that holds the pixels of a CUDA worker.
enum class Residency : std::uint8_t { automatic, device, host };

template <>
inline constexpr auto choice_words<Residency> = word_list("auto", "device", "host");

/// The rule for splitting a text into words if the tokenizer's files do not define one.
enum class TokenizerSplit : std::uint8_t { automatic, gpt2, cl100k };

template <>
inline constexpr auto choice_words<TokenizerSplit> = word_list("auto", "gpt2", "cl100k");

/// The character between the cells of a table.
enum class Delimiter : std::uint8_t { comma, semicolon, tab, pipe, space };

template <>
inline constexpr auto choice_words<Delimiter> = word_list("comma", "semicolon", "tab", "pipe",
                                                          "space");

constexpr char character_of(Delimiter delimiter) {
  constexpr std::array characters = {',', ';', '\t', '|', ' '};
  return characters[static_cast<std::size_t>(delimiter)];
}

/// The columns of a table, and how they are read.
struct TableConfig {
  std::vector<std::string> features, targets;
  bool standardize = true; ///< features
  Delimiter delimiter = Delimiter::comma;

  bool operator==(const TableConfig&) const = default;
};

struct TokenizerConfig {
  std::string path = "bytes"; ///< bytes, or the path of the tokenizer's files
  TokenizerSplit split = TokenizerSplit::automatic;
  std::optional<std::string> cache = {}; ///< folder of token files

  bool operator==(const TokenizerConfig&) const = default;
};

/// By channel, of pixels / 255. Empty: the data set's values.
struct NormalizeConfig {
  std::vector<double> mean, deviation;

  bool operator==(const NormalizeConfig&) const = default;
};

/// The samples of a text on which the model is evaluated.
struct ValidationConfig {
  double share = 0.1;    ///< of all samples, taken from the end
  std::string path = {}; ///< a file or folder that replaces the share; empty: none

  bool operator==(const ValidationConfig&) const = default;
};

struct DataConfig {
  std::string dataset = "cifar10"; ///< a name in data_sets.hpp
  std::string root;                ///< folder of the files
  std::int64_t image_size = 32;
  std::int64_t batch_size = 128;      ///< global: over all workers and micro-batches
  std::int64_t eval_batch_size = 256; ///< per worker
  std::vector<Augmentation> augment;
  std::optional<std::int64_t> eval_resize; ///< shorter side before the centre crop
  NormalizeConfig normalize;
  bool skip_unreadable = false; ///< skips image files that cannot be read
  bool shuffle = true;          ///< reshuffles the training samples in each epoch
  bool drop_last =
      true; ///< else the last batch is filled up with the first samples, as PyTorch does
  std::int64_t prefetch = 4;          ///< batches in flight per worker: the loader's credits
  std::optional<std::int64_t> slices; ///< of a global batch; unset: Config::slices
  SliceBalance balance = SliceBalance::even;
  std::optional<std::string> replay_assignment; ///< events.jsonl of a run whose slice assignments
                                                ///< are replayed
  std::int64_t loader_threads = 1;
  Residency residency = Residency::automatic;
  std::optional<std::int64_t> limit;      ///< use only the first N training samples
  std::optional<std::int64_t> eval_limit; ///< evaluate only N test samples
  TableConfig table;                      ///< csv
  TokenizerConfig tokenizer;              ///< text
  std::string text_key = "text";          ///< text: key in JSON lines
  std::int64_t sequence_length = 256;     ///< text: tokens of a sample
  ValidationConfig validation;            ///< text
  CustomValues own;                       ///< values of custom data sets' keys
  CustomRows<CustomDataSet> custom_sets;  ///< the custom data sets

  bool reassigns() const { return balance != SliceBalance::even || replay_assignment.has_value(); }
  /// Training samples of the synthetic data set; it has a fourth as many test samples.
  std::int64_t synthetic_samples() const { return limit.value_or(1024); }

  bool operator==(const DataConfig&) const = default;
};

} // namespace troupe
