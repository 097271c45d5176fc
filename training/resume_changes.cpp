#include "training/resume_changes.hpp"

#include "core/config/data_sets.hpp"
#include "core/config/load.hpp"
#include "core/config/schema.hpp"
#include "nn/config_check.hpp"
#include "nn/schedule.hpp"
#include "training/job_plan.hpp"
#include "training/model_card.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace troupe::training {

namespace {

/// Keys of section train that do not affect parameters.
constexpr std::array<std::string_view, 4> without_effect = {
    "train.evaluate_every", "train.gradient_norm_every", "train.recompute", "train.sample"};

bool changes_training(std::string_view key) {
  return key == "data.augment" ||
         (key.starts_with("train.") && std::ranges::count(without_effect, key) == 0);
}

bool changes_rate(std::string_view key) {
  constexpr std::array<std::string_view, 4> keys = {"train.optimizer.lr", "train.epochs",
                                                    "train.max_steps", "train.max_tokens"};
  return key.starts_with("train.schedule.") || std::ranges::count(keys, key) > 0;
}

std::optional<Config> config_of(const CheckpointHeader& checkpoint, const Catalogue& catalogue) {
  const auto card = read_card(checkpoint.metadata);
  if (!card.config)
    return std::nullopt;
  auto config = parse_config(*card.config, "checkpoint", {}, Capabilities::all(), catalogue);
  return config ? std::optional{*std::move(config)} : std::nullopt;
}

double rate_at(std::int64_t step, const Config& config, std::int64_t steps_per_epoch) {
  const JobPlan plan{config, steps_per_epoch};
  return nn::learning_rate(config.train.schedule, config.train.optimizer.lr, step,
                           {steps_per_epoch, plan.total_steps(), tokens_per_step(config.data)});
}

} // namespace

std::vector<std::string> changes_since(const CheckpointHeader& checkpoint, const Config& config,
                                       std::int64_t steps_per_epoch) {
  const auto catalogue = nn::catalogue_of(config);
  auto before = config_of(checkpoint, catalogue);
  if (!before)
    return {};
  auto now = config; // config_keys returns pointers to members, so it needs a mutable config
  const auto old_keys = config_keys(*before, catalogue), new_keys = config_keys(now, catalogue);
  const auto rate = fmt::format("; the next learning rate is {:.3g} instead of {:.3g}",
                                rate_at(checkpoint.step, now, steps_per_epoch),
                                rate_at(checkpoint.step, *before, steps_per_epoch));
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < new_keys.size(); ++i) {
    const auto& key = new_keys[i].path;
    const auto was = config_value_text(old_keys[i]), is = config_value_text(new_keys[i]);
    if (changes_training(key) && was != is)
      changes.push_back(fmt::format("{} was {} up to step {} and is now {}{}", key, was,
                                    checkpoint.step, is, changes_rate(key) ? rate : ""));
  }
  return changes;
}

} // namespace troupe::training
