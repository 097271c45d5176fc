// The section scheduler.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

#include <fmt/format.h>

#include <vector>

namespace troupe {

namespace of_deepspeed_scheduler {
namespace {

/// Returns the learning rate to which ratios refer.
double rate_of(const ForeignContext& context) {
  return number_at(context, "optimizer.params.lr").value_or(0.001);
}

/// Returns steps, or epochs if the number of steps per epoch is known.
std::string warmup_text(const ForeignContext& context, std::int64_t steps) {
  if (!context.steps_per_epoch)
    return fmt::format("{} steps", steps);
  return fmt::format("{}",
                     static_cast<double>(steps) / static_cast<double>(*context.steps_per_epoch));
}

/// DeepSpeed's defaults for missing keys.
ForeignSettings default_settings(const ForeignContext& context, const std::string& schedule) {
  ForeignSettings settings = {{"train.schedule.name", schedule}};
  if (!context.find("scheduler.params.warmup_num_steps"))
    settings.push_back(
        {"train.schedule.warmup", warmup_text(context, 1000), Firmness::default_value});
  if (schedule == "cosine")
    settings.push_back({"train.schedule.min_lr", fmt::format("{}", 0.0001 * rate_of(context)),
                        Firmness::default_value});
  return settings;
}

ForeignOutcome map_warmup(const ForeignContext& context, const std::string& schedule) {
  auto settings = default_settings(context, schedule);
  if (!context.find("scheduler.params.warmup_type"))
    return {Fate::refused,
            "without warmup_type DeepSpeed's warm-up is logarithmic, but troupe's is linear; set "
            "warmup_type: linear",
            std::move(settings)};
  return mapped(std::move(settings));
}

ForeignOutcome map_type(const ForeignContext& context, const ForeignEntry& entry) {
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

ForeignOutcome map_steps(const ForeignContext& context, const ForeignEntry& entry) {
  const auto steps = whole_of(entry);
  if (!steps || *steps < 0)
    return wrong(entry, "a whole number, at least 0, or \"auto\"");
  if (*steps == 0)
    return {Fate::idle, "0 steps: no warm-up"};
  return mapped({{"train.schedule.warmup", warmup_text(context, *steps)}});
}

ForeignOutcome map_total(const ForeignContext& context, const ForeignEntry& entry) {
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

ForeignOutcome map_shape(const ForeignContext&, const ForeignEntry& entry) {
  if (entry.text == "linear")
    return {Fate::built_in, "warm-up is linear"};
  if (entry.text == "log")
    return {Fate::refused, "warm-up is linear: warmup_type: linear"};
  return unknown_word(entry, {"linear", "log"});
}

ForeignOutcome map_peak(const ForeignContext&, const ForeignEntry& entry) {
  const auto rate = number_of(entry);
  if (!rate || *rate <= 0)
    return wrong(entry, "a number, above 0, or \"auto\"");
  return mapped({{"train.optimizer.lr", fmt::format("{}", *rate)}});
}

ForeignOutcome map_floor(const ForeignContext& context, const ForeignEntry& entry) {
  const auto ratio = number_of(entry);
  if (!ratio || *ratio < 0 || *ratio > 1)
    return wrong(entry, "a number, 0 to 1");
  return mapped({{"train.schedule.min_lr", fmt::format("{}", *ratio * rate_of(context))}});
}

ForeignRows mapped_rows() {
  return {
      {"type", Fate::mapped,
       "`train.schedule.name`: WarmupLR is constant, WarmupCosineLR cosine, WarmupDecayLR linear; "
       "the others are not supported",
       map_type},
      {"params.warmup_num_steps", Fate::mapped,
       "`train.schedule.warmup`, in steps; in epochs with `--steps-per-epoch N`", map_steps},
      {"params.warmup_max_lr", Fate::mapped, "`train.optimizer.lr`", map_peak},
      {"params.warmup_type", Fate::built_in,
       "warm-up is linear; log, which is DeepSpeed's default, is not supported", map_shape},
      {"params.total_num_steps", Fate::mapped,
       "`train.max_steps`; `train.epochs` is computed from it, or null", map_total},
      {"params.cos_min_ratio", Fate::mapped, "`train.schedule.min_lr`: times the learning rate",
       map_floor},
  };
}

ForeignRows other_rows() {
  return below(
      "params.",
      joined({refused("a warm-up of W steps begins at lr / W; leave it at 0",
                      {"warmup_min_lr", "warmup_min_ratio"}),
              refused("it belongs to a scheduler that troupe does not have; the nearest is "
                      "cosine after a warm-up",
                      {"lr_range_test_min_lr", "lr_range_test_step_size", "lr_range_test_step_rate",
                       "lr_range_test_staircase", "cycle_min_lr", "cycle_max_lr", "decay_lr_rate",
                       "cycle_first_step_size", "cycle_second_step_size", "cycle_first_stair_count",
                       "cycle_second_stair_count", "decay_step_size", "cycle_momentum",
                       "cycle_min_mom", "cycle_max_mom", "decay_mom_rate"}),
              built_in("a resumed run continues its schedule", {"last_batch_iteration"})}));
}

} // namespace
} // namespace of_deepspeed_scheduler

ForeignRows deepspeed_scheduler_rows() {
  using namespace of_deepspeed_scheduler;
  return below("scheduler.", joined({mapped_rows(), other_rows()}));
}

} // namespace troupe
