// The section scheduler.
#include "core/suggestion.hpp"
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

#include <fmt/format.h>

#include <vector>

namespace troupe {

namespace of_deepspeed_scheduler {
namespace {

using Context = ForeignContext;
using Entry = ForeignEntry;
using Outcome = ForeignOutcome;

const std::string count = "a whole number, at least 0, or \"auto\"";

/// Returns the learning rate to which ratios refer.
double rate_of(const Context& context) {
  return number_at(context, "optimizer.params.lr").value_or(0.001);
}

/// Returns steps, or epochs if the number of steps per epoch is known.
std::string warmup_text(const Context& context, std::int64_t steps) {
  if (!context.steps_per_epoch)
    return fmt::format("{} steps", steps);
  return number_text(static_cast<double>(steps) / static_cast<double>(*context.steps_per_epoch));
}

/// DeepSpeed's defaults for missing keys.
ForeignSettings default_settings(const Context& context, const std::string& schedule) {
  ForeignSettings settings = {{"train.schedule.name", schedule}};
  if (!context.find("scheduler.params.warmup_num_steps"))
    settings.push_back(
        {"train.schedule.warmup", warmup_text(context, 1000), Firmness::default_value});
  if (schedule == "cosine")
    settings.push_back(
        {"train.schedule.min_lr", number_text(0.0001 * rate_of(context)), Firmness::default_value});
  return settings;
}

Outcome map_warmup(const Context& context, const std::string& schedule) {
  auto settings = default_settings(context, schedule);
  if (!context.find("scheduler.params.warmup_type"))
    return {Fate::refused,
            "without warmup_type DeepSpeed's warm-up is logarithmic, but troupe's is linear; set "
            "warmup_type: linear",
            std::move(settings)};
  return mapped(std::move(settings));
}

Outcome map_type(const Context& context, const Entry& entry) {
  const auto& type = entry.text;
  if (type == "WarmupLR")
    return map_warmup(context, "constant");
  if (type == "WarmupCosineLR")
    return map_warmup(context, "cosine");
  if (type == "WarmupDecayLR")
    return map_warmup(context, "linear");
  const std::vector<std::string> known = {"WarmupLR", "WarmupCosineLR", "WarmupDecayLR", "OneCycle",
                                          "LRRangeTest"};
  return {Fate::refused,
          fmt::format("{}: troupe has constant, step, cosine, linear and wsd, each after a linear "
                      "warm-up: WarmupLR, WarmupCosineLR or WarmupDecayLR",
                      value_text(entry)),
          {},
          {},
          meant(type, known, 3)};
}

Outcome map_steps(const Context& context, const Entry& entry) {
  const auto steps = whole_of(entry);
  if (!steps || *steps < 0)
    return wrong(entry, count);
  if (*steps == 0)
    return with_fate(Fate::idle, "0 steps: no warm-up");
  return mapped({{"train.schedule.warmup", warmup_text(context, *steps)}});
}

Outcome map_total(const Context& context, const Entry& entry) {
  const auto steps = whole_of(entry);
  if (!steps || *steps < 1)
    return wrong(entry, "a whole number, at least 1, or \"auto\"");
  ForeignSettings settings = {{"train.max_steps", fmt::format("{}", *steps)}};
  const auto epochs = context.steps_per_epoch
                          ? fmt::format("{}", (*steps - 1) / *context.steps_per_epoch + 1)
                          : std::string{"null"}; // as many as the steps take
  settings.push_back({"train.epochs", epochs});
  return mapped(std::move(settings));
}

Outcome map_shape(const Context&, const Entry& entry) {
  if (entry.text == "linear")
    return with_fate(Fate::built_in, "warm-up is linear");
  if (entry.text == "log")
    return with_fate(Fate::refused, "warm-up is linear: warmup_type: linear");
  return wrong(entry, "linear, log",
               suggest(entry.text, std::vector<std::string>{"linear", "log"}));
}

Outcome map_peak(const Context&, const Entry& entry) {
  const auto rate = number_of(entry);
  if (!rate || *rate <= 0)
    return wrong(entry, "a number, above 0, or \"auto\"");
  return mapped({{"train.optimizer.lr", number_text(*rate)}});
}

Outcome map_floor(const Context& context, const Entry& entry) {
  const auto ratio = number_of(entry);
  if (!ratio || *ratio < 0 || *ratio > 1)
    return wrong(entry, "a number, 0 to 1");
  return mapped({{"train.schedule.min_lr", number_text(*ratio * rate_of(context))}});
}

ForeignRows other_rows() {
  ForeignRows rows;
  for (const auto* key :
       {"scheduler.params.lr_range_test_min_lr", "scheduler.params.lr_range_test_step_size",
        "scheduler.params.lr_range_test_step_rate", "scheduler.params.lr_range_test_staircase",
        "scheduler.params.cycle_min_lr", "scheduler.params.cycle_max_lr",
        "scheduler.params.decay_lr_rate", "scheduler.params.cycle_first_step_size",
        "scheduler.params.cycle_second_step_size", "scheduler.params.cycle_first_stair_count",
        "scheduler.params.cycle_second_stair_count", "scheduler.params.decay_step_size",
        "scheduler.params.cycle_momentum", "scheduler.params.cycle_min_mom",
        "scheduler.params.cycle_max_mom", "scheduler.params.decay_mom_rate"})
    rows.push_back({.key = key,
                    .default_value = Fate::refused,
                    .says = "it belongs to a scheduler that troupe does not have; the nearest is "
                            "cosine after a warm-up"});
  rows.push_back({.key = "scheduler.params.last_batch_iteration",
                  .default_value = Fate::built_in,
                  .says = "a resumed run continues its schedule"});
  return rows;
}

} // namespace
} // namespace of_deepspeed_scheduler

ForeignRows deepspeed_scheduler_rows() {
  using namespace of_deepspeed_scheduler;
  const std::string_view from_zero = "a warm-up of W steps begins at lr / W; leave it at 0";
  ForeignRows rows = {
      {.key = "scheduler.type",
       .default_value = Fate::mapped,
       .says = "`train.schedule.name`: WarmupLR is constant, WarmupCosineLR cosine, WarmupDecayLR "
               "linear; the others are not supported",
       .map = map_type},
      {.key = "scheduler.params.warmup_num_steps",
       .default_value = Fate::mapped,
       .says = "`train.schedule.warmup`, in steps; in epochs with `--steps-per-epoch N`",
       .map = map_steps},
      {.key = "scheduler.params.warmup_max_lr",
       .default_value = Fate::mapped,
       .says = "`train.optimizer.lr`",
       .map = map_peak},
      {.key = "scheduler.params.warmup_type",
       .default_value = Fate::built_in,
       .says = "warm-up is linear; log, which is DeepSpeed's default, is not supported",
       .map = map_shape},
      {.key = "scheduler.params.total_num_steps",
       .default_value = Fate::mapped,
       .says = "`train.max_steps`; `train.epochs` is computed from it, or null",
       .map = map_total},
      {.key = "scheduler.params.cos_min_ratio",
       .default_value = Fate::mapped,
       .says = "`train.schedule.min_lr`: times the learning rate",
       .map = map_floor},
      {.key = "scheduler.params.warmup_min_lr", .default_value = Fate::refused, .says = from_zero},
      {.key = "scheduler.params.warmup_min_ratio",
       .default_value = Fate::refused,
       .says = from_zero},
  };
  for (auto& row : other_rows())
    rows.push_back(row);
  return rows;
}

} // namespace troupe
