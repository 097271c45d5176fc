#include "core/config/detail/old_keys.hpp"

#include "core/config/detail/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

struct Renamed {
  const char* old;
  const char* now;
};

constexpr std::array renamed = {
    Renamed{"data.dealing", "data.balance"},
    Renamed{"data.recorded_dealing", "data.replay_assignment"},
    Renamed{"parallel.buddies", "parallel.replicate_shards"},
    Renamed{"parallel.local_after", "parallel.local_sgd.after"},
    Renamed{"parallel.local_momentum", "parallel.local_sgd.momentum"},
    Renamed{"parallel.outer.team", "parallel.diloco.group_size"},
    Renamed{"parallel.outer.inner", "parallel.diloco.inner"},
    Renamed{"parallel.outer.lr", "parallel.diloco.lr"},
    Renamed{"parallel.outer.momentum", "parallel.diloco.momentum"},
    Renamed{"parallel.outer.nesterov", "parallel.diloco.nesterov"},
    Renamed{"parallel.outer.fragments", "parallel.diloco.fragments"},
    Renamed{"parallel.outer.overlap", "parallel.diloco.overlap"},
    Renamed{"parallel.outer.compress", "parallel.diloco.compress"},
    Renamed{"parallel.outer.error_feedback", "parallel.diloco.error_feedback"},
    Renamed{"parallel.outer.quorum", "parallel.diloco.quorum"},
    Renamed{"parallel.outer.grace", "parallel.diloco.grace"},
    Renamed{"parallel.staleness", "parallel.async.staleness"},
    Renamed{"parallel.stale_gradients", "parallel.async.policy"},
    Renamed{"parallel.compensation", "parallel.async.compensation"},
    Renamed{"parallel.patience", "parallel.async.wait_tolerance"},
    Renamed{"parallel.weight_prediction", "parallel.async.prediction"},
    Renamed{"cluster.timeouts.form", "cluster.timeouts.rejoin"},
};

/// A key that is now a field of another key's mapping.
struct BecameField {
  const char* old;
  const char* now;
  const char* field;
};

constexpr std::array became_fields = {
    BecameField{"data.mean", "data.normalize", "mean"},
    BecameField{"data.std", "data.normalize", "std"},
    BecameField{"precision.loss_scale.initial", "precision.loss_scale", "initial"},
    BecameField{"precision.loss_scale.growth_factor", "precision.loss_scale", "growth_factor"},
    BecameField{"precision.loss_scale.backoff_factor", "precision.loss_scale", "backoff_factor"},
    BecameField{"precision.loss_scale.growth_interval", "precision.loss_scale", "growth_interval"},
    BecameField{"parallel.wrap.min_num_params", "parallel.wrap", "min_num_params"},
};

const ConfigKey& key_with(const std::vector<ConfigKey>& keys, std::string_view path) {
  return *std::ranges::find(keys, path, &ConfigKey::path);
}

/// Precondition: a form of the key has the field.
const ConfigKey& field_of(const ConfigKey& key, std::string_view name) {
  const auto& forms = std::get<FormsTarget>(key.target).forms;
  const auto has_field = [&](const ConfigForm& form) {
    return std::ranges::count(form.fields, name, &ConfigKey::path) > 0;
  };
  return key_with(std::ranges::find_if(forms, has_field)->fields, name);
}

} // namespace

OldKeys::OldKeys(Config& config, const std::vector<ConfigKey>& keys) : config_{config} {
  for (const auto& [old, now] : renamed)
    add(old, key_with(keys, now).target, key_with(keys, now).rule, {now}, now);
  add_fields(keys);
  add_others();
  add_waiting();
}

void OldKeys::add(std::string path, ConfigTarget target, ConfigRule rule,
                  std::vector<std::string> replaced, std::string now,
                  std::function<void()> changed) {
  all_.push_back({.key = {std::move(path), std::move(target), std::move(rule), {}},
                  .replaced = std::move(replaced),
                  .now = std::move(now),
                  .changed = std::move(changed)});
}

void OldKeys::add_fields(const std::vector<ConfigKey>& keys) {
  for (const auto& [old, now, name] : became_fields) {
    const auto& field = field_of(key_with(keys, now), name);
    add(old, field.target, field.rule, {now}, fmt::format("{}: {{{}: VALUE}}", now, name));
  }
}

/// Adds keys with other values than those that replace them.
void OldKeys::add_others() {
  auto& parallel = config_.parallel;
  add("parallel.wrap.policy", choice(parallel.wrap.policy), {}, {"parallel.wrap"},
      "parallel.wrap: per_block, {min_num_params: N} or [NAME, ...]");
  add("parallel.wrap.units", &parallel.wrap.units, {}, {"parallel.wrap"},
      "parallel.wrap: [NAME, ...]");
  add("parallel.offload.target", choice(parallel.offload.target), {}, {"parallel.offload"},
      "parallel.offload: TARGET");
  // Could always be added to the word of a target.
  add("parallel.offload.ratio", &parallel.offload.ratio, {.min = 0, .max = 1, .above_min = true},
      {}, "parallel.offload: {TARGET: RATIO}");
  add("parallel.local_steps", &local_steps_, count_to(1e9),
      {"parallel.local_sgd.steps", "parallel.diloco.steps"},
      "parallel.local_sgd.steps or parallel.diloco.steps",
      [this, &parallel] { parallel.local_sgd.steps = parallel.diloco.steps = local_steps_; });
  add("precision.loss_scale.enabled", &config_.precision.loss_scale.enabled, {},
      {"precision.loss_scale"}, "precision.loss_scale: on or off");
  auto& betas = config_.train.optimizer.betas;
  add("train.optimizer.beta1", &betas[0], fraction(), {"train.optimizer.betas"},
      "train.optimizer.betas: [BETA1, BETA2]");
  add("train.optimizer.beta2", &betas[1], fraction(), {"train.optimizer.betas"},
      "train.optimizer.betas: [BETA1, BETA2]");
  auto& validation = config_.data.validation;
  add("data.validation_part", &validation.share, fraction(), {"data.validation"},
      "data.validation");
  add("data.test_root", &test_root_, a_path(), {"data.validation"}, "data.validation",
      [this, &validation] { validation.path = test_root_.value_or(""); });
}

/// Adds keys whose values apply() uses.
void OldKeys::add_waiting() {
  add("data.tokenizer_split", choice(tokenizer_split_), {}, {},
      "data.tokenizer: {path: PATH, split: RULE}");
  add("data.synthetic_samples", &synthetic_samples_, count_to(1000000000), {},
      "data.limit of the synthetic data set");
  add("parallel.max_units_alive", &max_units_alive_, at_least(1), {},
      "parallel.prefetch (at most N - 1)");
  add("train.clip_before_unscale", &clip_before_unscale_, {}, {}, "");
}

const OldKey* OldKeys::find(std::string_view path) const {
  const auto found =
      std::ranges::find_if(all_, [&](const OldKey& old) { return old.key.path == path; });
  return found == all_.end() ? nullptr : &*found;
}

bool OldKeys::has_section(std::string_view path) const {
  const auto begin = std::string{path} + ".";
  return std::ranges::any_of(all_,
                             [&](const OldKey& old) { return old.key.path.starts_with(begin); });
}

void OldKeys::apply() {
  auto& data = config_.data;
  if (tokenizer_split_ != TokenizerSplit::automatic)
    data.tokenizer.split = tokenizer_split_;
  if (synthetic_samples_ && data.dataset == "synthetic")
    data.limit = std::min(data.limit.value_or(*synthetic_samples_), *synthetic_samples_);
  auto& prefetch = config_.parallel.prefetch;
  if (max_units_alive_)
    prefetch = std::min(prefetch, *max_units_alive_ - 1);
}

ConfigConflicts OldKeys::conflicts() const {
  ConfigConflicts found;
  const auto& train = config_.train;
  const bool scaled = scales_loss(config_.precision.mode) && config_.precision.loss_scale.enabled;
  if (clip_before_unscale_ && scaled && (train.clip_grad_norm || train.clip_grad_value))
    found.push_back({{"train.clip_before_unscale", "precision.mode"},
                     "gradients would be clipped with the loss scale, in every step",
                     "false: gradients are unscaled first"});
  const auto& wrap = config_.parallel.wrap;
  if ((wrap.policy == WrapConfig::Policy::by_name) == wrap.units.empty())
    found.push_back({{"parallel.wrap.units", "parallel.wrap.policy"},
                     wrap.units.empty() ? "policy explicit requires the names of units"
                                        : "units are only for policy explicit",
                     "parallel.wrap: [NAME, ...]"});
  const auto& offload = config_.parallel.offload;
  if (!config_.parallel.offloads() && offload.ratio != 1)
    found.push_back({{"parallel.offload.ratio", "parallel.offload.target"},
                     "the ratio has no effect: no state is offloaded",
                     "parallel.offload: {optimizer: RATIO}"});
  return found;
}

std::string warning_of(const OldKey& old) {
  const auto what = old.now.empty() ? "has no effect" : "is " + old.now;
  return fmt::format("{} {} since 0.2; it will be refused from 0.3", old.key.path, what);
}

} // namespace troupe
