// Conflicts of the optimizer, of a run's length and of the lengths in it. Lengths in different
// units can only be compared once the data is known: nn/schedule.hpp.
#include "core/config/data_sets.hpp"
#include "core/config/detail/check.hpp"
#include "core/escape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troupe {

namespace {

using Unit = Length::Unit;

/// Whether a length ends at or past the run's end, as far as the keys determine it.
bool is_past_end(const Length& length, const TrainConfig& train) {
  if (length.unit == Unit::epochs)
    return train.epochs && length.count >= static_cast<double>(*train.epochs);
  return length.unit == Unit::percent && length.count >= 100;
}

/// Returns the options that make a short trial of a schedule for longer training: without the
/// warm-up if that does not fit, and with only the milestones that are reached.
std::string options_of_trial(const ScheduleConfig& schedule, const TrainConfig& train) {
  auto options = fmt::format("--set train.epochs={}", *train.epochs);
  if (is_past_end(schedule.warmup, train))
    options += " --set train.schedule.warmup=0";
  std::vector<std::string> reached;
  for (const auto& milestone : schedule.milestones)
    if (!is_past_end(milestone, train))
      reached.push_back(format_length(milestone));
  if (schedule.name != ScheduleKind::step || reached.size() == schedule.milestones.size())
    return options;
  return options + (reached.empty() ? " --set train.schedule.name=constant"
                                    : fmt::format(" --set 'train.schedule.milestones=[{}]'",
                                                  fmt::join(reached, ", ")));
}

std::string in_words(const Length& length) {
  return length.unit == Unit::epochs ? fmt::format("{} epochs", length.count)
                                     : format_length(length);
}

/// Returns the end with which a length past it is compared.
std::string end_in_words(const Length& length, const TrainConfig& train) {
  return length.unit == Unit::epochs ? fmt::format("{} epochs", *train.epochs) : "the run";
}

std::string allowed_below_end(const Length& length, const TrainConfig& train) {
  if (length.unit == Unit::percent)
    return "below 100%";
  return fmt::format("below {}; for a short trial: {}", *train.epochs,
                     options_of_trial(train.schedule, train));
}

bool do_not_grow(const Length& one, const Length& next) {
  return one.unit == next.unit && one.count >= next.count;
}

void check_milestones(ConfigCheck& check) {
  const auto& train = check.config.train;
  const auto& at = train.schedule.milestones;
  if (at.empty())
    check.refuse({"train.schedule.milestones", "train.schedule.name"},
                 "schedule step needs milestones", "a list of epochs, steps, tokens or shares");
  else if (std::ranges::adjacent_find(at, do_not_grow) != at.end())
    check.refuse({"train.schedule.milestones"}, "milestones must increase", "ascending lengths");
  else if (is_past_end(at.back(), train))
    check.refuse({"train.schedule.milestones", "train.epochs"},
                 fmt::format("milestone {} is never reached in {}", format_length(at.back()),
                             end_in_words(at.back(), train)),
                 allowed_below_end(at.back(), train));
}

void check_schedule(ConfigCheck& check) {
  const auto& train = check.config.train;
  const auto& schedule = train.schedule;
  if (!train.max_steps && is_past_end(schedule.warmup, train))
    check.refuse({"train.schedule.warmup", "train.epochs"},
                 fmt::format("a warm-up of {} leaves nothing of {}", in_words(schedule.warmup),
                             end_in_words(schedule.warmup, train)),
                 allowed_below_end(schedule.warmup, train));
  if (schedule.name == ScheduleKind::step)
    check_milestones(check);
  const bool ends_at_min =
      schedule.name != ScheduleKind::constant && schedule.name != ScheduleKind::step;
  if (ends_at_min && schedule.min_lr > train.optimizer.lr)
    check.refuse(
        {"train.schedule.min_lr", "train.optimizer.lr"},
        fmt::format("{} is above the learning rate {}", schedule.min_lr, train.optimizer.lr),
        fmt::format("at most {}", train.optimizer.lr));
}

void check_optimizer(ConfigCheck& check) {
  const auto& optimizer = check.config.train.optimizer;
  if (optimizer.nesterov && optimizer.name != OptimizerKind::sgd)
    check.refuse({"train.optimizer.momentum.nesterov", "train.optimizer.name"},
                 fmt::format("{} has no Nesterov momentum", to_string(optimizer.name)),
                 "false, or train.optimizer.name: sgd");
  else if (optimizer.nesterov && optimizer.momentum == 0)
    check.refuse({"train.optimizer.momentum.nesterov", "train.optimizer.momentum"},
                 "nesterov has no effect without momentum", "false, or a momentum above 0");
}

/// Returns the keys whose values count tokens.
std::vector<std::string> keys_in_tokens(const TrainConfig& train) {
  std::vector<std::string> keys;
  const auto& schedule = train.schedule;
  const auto counts = [](const Length& length) { return length.unit == Unit::tokens; };
  if (train.max_tokens)
    keys.push_back("train.max_tokens");
  if (counts(schedule.warmup))
    keys.push_back("train.schedule.warmup");
  if (std::ranges::any_of(schedule.milestones, counts))
    keys.push_back("train.schedule.milestones");
  if (counts(schedule.decay))
    keys.push_back("train.schedule.decay");
  return keys;
}

void check_text(ConfigCheck& check) {
  const auto& data = check.config.data;
  const auto& train = check.config.train;
  if (traits_of_data(data).sample == SampleKind::tokens)
    return;
  if (train.sample.every.unit != Interval::Unit::never)
    check.refuse({"train.sample", "data.dataset"},
                 fmt::format("a model of dataset {} does not generate text", data.dataset),
                 "never");
  for (const auto& key : keys_in_tokens(train))
    check.refuse({key, "data.dataset"},
                 fmt::format("dataset {} has no tokens to count", data.dataset),
                 key == "train.max_tokens" ? "null, and train.max_steps"
                                           : "epochs, steps, or a share of the run");
}

} // namespace

void check_train(ConfigCheck& check) {
  const auto& train = check.config.train;
  check_optimizer(check);
  check_schedule(check);
  if (!train.epochs && !train.max_steps && !train.max_tokens)
    check.refuse({"train.epochs", "train.max_steps", "train.max_tokens"}, "the run has no end",
                 "a number, or null with max_steps or max_tokens");
  check_text(check);
  if (const auto loss = check.config.model.loss;
      train.label_smoothing > 0 && loss != LossKind::cross_entropy)
    check.refuse({"train.label_smoothing", "model.loss"},
                 fmt::format("{} has no label smoothing", to_string(loss)),
                 "0, or loss: cross_entropy");
  for (const auto& [name, factor] : train.lr_scale)
    if (factor == 0)
      check.refuse({"train.lr_scale"},
                   fmt::format("{}: a factor of 0 would not train it", echoed(name)),
                   "above 0; to keep it unchanged, use train.freeze");
}

} // namespace troupe
