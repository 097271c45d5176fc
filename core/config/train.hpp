/// The config section train.
#pragma once

#include "core/choice.hpp"
#include "core/config/optimizer_kind.hpp"
#include "core/config/recompute.hpp"
#include "core/units.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// The parameters to which weight decay applies.
enum class DecayScope : std::uint8_t {
  all,
  matrices, ///< those with two or more dimensions
};

template <>
inline constexpr auto choice_words<DecayScope> = word_list("all", "matrices");

struct OptimizerConfig {
  OptimizerKind name = OptimizerKind::sgd;
  double lr = 0.1;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0.0;
  DecayScope decay = DecayScope::all;
  std::array<double, 2> betas = {0.9, 0.999}; ///< decay rates of the first and the second moment
  double eps = 1e-8;

  bool operator==(const OptimizerConfig&) const = default;
};

enum class ScheduleKind : std::uint8_t {
  constant,
  step,
  cosine,
  linear,
  wsd, ///< warm-up, stable, decay
};

template <>
inline constexpr auto choice_words<ScheduleKind> = word_list("constant", "step", "cosine", "linear",
                                                             "wsd");

struct ScheduleConfig {
  ScheduleKind name = ScheduleKind::constant;
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
  double label_smoothing = 0.0;
  std::vector<std::string> freeze;        ///< units and modules that are not trained
  std::map<std::string, double> lr_scale; ///< of units and modules: multiplies the learning rate
  RecomputeConfig recompute;
  std::int64_t evaluate_every = 1; ///< epochs; 0: never

  bool operator==(const TrainConfig&) const = default;
};

} // namespace troupe
