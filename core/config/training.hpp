/// The config sections that describe the training: model, data, optimizer, schedule.
#pragma once

#include "core/config/custom_values.hpp"
#include "core/config/length.hpp"
#include "core/config/recompute.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

namespace nn {
struct Family; // nn/models/family.hpp
}
struct CustomDataSet;

struct RunConfig {
  std::string name = "run";
  std::string output = "runs"; ///< folder; the run writes output/name/
  std::uint64_t seed = 1;
  bool deterministic = false;
  bool tensorboard = false; ///< event files in the run's folder

  bool operator==(const RunConfig&) const = default;
};

struct ModelConfig {
  std::string name; ///< Catalogue (catalogue.hpp) has the valid names and the default
  std::int64_t num_classes = 10;
  std::int64_t in_channels = 3;
  std::string stem = "cifar";               ///< first layers: imagenet, cifar
  std::optional<std::int64_t> width;        ///< channels of the first stage; not set: the model's
  std::vector<std::int64_t> hidden = {512}; ///< widths of hidden layers
  bool bias = true;                         ///< of layers that multiply by a weight
  std::string loss = "cross_entropy";       ///< cross_entropy, mean_squared_error
  std::vector<std::string> autocast_off;    ///< modules that amp leaves in fp32
  std::optional<std::string> pretrained;    ///< a safetensors file to take parameters from
  bool sync_batch_norm = false;             ///< statistics over all workers' batches
  /// Language models only. If not set, the named model's values apply, and the data's vocabulary.
  std::optional<std::int64_t> layers, heads, kv_heads, intermediate, positions, vocabulary;
  std::string head = "usual";             ///< its weight: tied (the embedding's table), own, usual
  double rope_theta = 10000.0;            ///< base of the rotary positions' wavelengths
  double norm_epsilon = 1e-5;             ///< of a language model's norms: added to variances
  double dropout = 0;                     ///< rate, while a language model is trained
  CustomValues own;                       ///< values of custom models' keys
  CustomRows<nn::Family> custom_families; ///< the custom models

  bool operator==(const ModelConfig&) const = default;
};

struct DataConfig {
  std::string dataset = "cifar10"; ///< a name in data_sets.hpp
  std::string root;                ///< folder of the files
  std::int64_t image_size = 32;
  std::int64_t batch_size = 128;           ///< global: over all workers and micro-batches
  std::int64_t eval_batch_size = 256;      ///< per worker
  std::vector<std::string> augment;        ///< crop, resized_crop, flip
  std::optional<std::int64_t> eval_resize; ///< shorter side before the centre crop
  std::vector<double> mean, deviation;     ///< of pixels / 255, by channel; empty: the data set's
  bool skip_unreadable = false;            ///< skips image files that cannot be read
  bool shuffle = true;                     ///< reshuffles the training samples in each epoch
  bool drop_last =
      true; ///< else the last batch is filled up with the first samples, as PyTorch does
  std::int64_t prefetch = 4;          ///< batches in flight per worker: the loader's credits
  std::optional<std::int64_t> slices; ///< of a global batch; unset: Config::slices
  std::string dealing = "even";       ///< assignment of slices: even, speed
  std::optional<std::string> recorded_dealing; ///< events.jsonl of a run whose slice assignments
                                               ///< are replayed
  std::int64_t loader_threads = 1;
  std::string residency = "auto";         ///< of pixels, for CUDA: auto, device, host
  std::optional<std::int64_t> limit;      ///< use only the first N training samples
  std::optional<std::int64_t> eval_limit; ///< evaluate only N test samples
  std::int64_t synthetic_samples = 1024;
  std::vector<std::string> features, targets; ///< csv: columns
  bool standardize = true;                    ///< csv: features
  std::string delimiter = "comma";            ///< csv: a name in delimiters.hpp
  std::string tokenizer = "bytes";            ///< text: bytes, or a path
  std::string tokenizer_split = "auto";       ///< text: auto, gpt2, cl100k
  std::string text_key = "text";              ///< text: key in JSON lines
  std::int64_t sequence_length = 256;         ///< text: tokens of a sample
  double validation_part = 0.1;               ///< text: fraction of all samples, taken from the end
  std::optional<std::string> test_root;       ///< text: replaces validation_part
  std::optional<std::string> tokens_cache;    ///< text: folder of token files
  CustomValues own;                           ///< values of custom data sets' keys
  CustomRows<CustomDataSet> custom_sets;      ///< the custom data sets

  bool reassigns() const { return dealing != "even" || recorded_dealing.has_value(); }

  bool operator==(const DataConfig&) const = default;
};

struct OptimizerConfig {
  std::string name = "sgd"; ///< sgd, adam, adamw
  double lr = 0.1;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0.0;
  std::string decay = "all"; ///< parameters that weight_decay applies to: all, matrices
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;

  bool operator==(const OptimizerConfig&) const = default;
};

struct ScheduleConfig {
  std::string name = "constant";  ///< constant, step, cosine, linear, wsd
  Length warmup;                  ///< linear, before any schedule
  std::vector<Length> milestones; ///< step: points, from the run's start, at which gamma multiplies
                                  ///< lr
  double gamma = 0.1;
  Length decay = {10, Length::Unit::percent}; ///< wsd: the last part of the run
  double min_lr = 0.0;                        ///< cosine, linear and wsd end here

  bool operator==(const ScheduleConfig&) const = default;
};

/// Texts that a language model generates during training.
struct SampleConfig {
  Interval every;
  std::string prompt;        ///< empty: the text with which documents begin
  std::int64_t tokens = 100; ///< at most

  bool operator==(const SampleConfig&) const = default;
};

struct TrainConfig {
  /// The run ends at the first of these limits that is set.
  std::optional<std::int64_t> epochs = 10, max_steps;
  std::optional<double> max_tokens; ///< a double, so that it may be written as 2e9
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  SampleConfig sample;
  std::int64_t accumulate = 1;           ///< micro-batches per worker and step
  std::optional<double> clip_grad_norm;  ///< of the unscaled gradient
  std::optional<double> clip_grad_value; ///< of each of its elements, before clip_grad_norm
  std::int64_t gradient_norm_every = 0;  ///< steps between measured norms; 0: only to clip
  bool clip_before_unscale = false;      ///< a known mistake: refused where it would matter
  double label_smoothing = 0.0;
  std::vector<std::string> freeze;        ///< units and modules that are not trained
  std::map<std::string, double> lr_scale; ///< of units and modules: multiplies the learning rate
  RecomputeConfig recompute;
  std::int64_t evaluate_every = 1; ///< epochs; 0: never

  bool operator==(const TrainConfig&) const = default;
};

} // namespace troupe
