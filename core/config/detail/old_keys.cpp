#include "core/config/detail/old_keys.hpp"

#include "core/config/detail/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

/// A key that is now another key, or a field of another key's mapping.
struct Renamed {
  const char *old, *now;
  const char* field = nullptr;
};

constexpr Renamed renamed[] = {
    {"data.dealing", "data.balance"},
    {"data.recorded_dealing", "data.replay_assignment"},
    {"parallel.buddies", "parallel.replicate_shards"},
    {"parallel.local_after", "parallel.local_sgd.after"},
    {"parallel.local_momentum", "parallel.local_sgd.momentum"},
    {"parallel.outer.team", "parallel.diloco.group_size"},
    {"parallel.outer.inner", "parallel.diloco.inner"},
    {"parallel.outer.lr", "parallel.diloco.lr"},
    {"parallel.outer.momentum", "parallel.diloco.momentum"},
    {"parallel.outer.nesterov", "parallel.diloco.momentum.nesterov"},
    {"parallel.outer.fragments", "parallel.diloco.fragments"},
    {"parallel.outer.overlap", "parallel.diloco.overlap"},
    {"parallel.outer.compress", "parallel.diloco.compress"},
    {"parallel.outer.error_feedback", "parallel.diloco.compress.error_feedback"},
    {"parallel.outer.quorum", "parallel.diloco.quorum"},
    {"parallel.outer.grace", "parallel.diloco.quorum.grace"},
    {"parallel.staleness", "parallel.async.staleness"},
    {"parallel.stale_gradients", "parallel.async.policy"},
    {"parallel.compensation", "parallel.async.compensation"},
    {"parallel.patience", "parallel.async.wait_tolerance"},
    {"parallel.weight_prediction", "parallel.async.prediction"},
    {"cluster.timeouts.form", "cluster.timeouts.rejoin"},
    {"data.mean", "data.normalize", "mean"},
    {"data.std", "data.normalize", "std"},
    {"precision.loss_scale.initial", "precision.loss_scale", "initial"},
    {"precision.loss_scale.growth_factor", "precision.loss_scale", "growth_factor"},
    {"precision.loss_scale.backoff_factor", "precision.loss_scale", "backoff_factor"},
    {"precision.loss_scale.growth_interval", "precision.loss_scale", "growth_interval"},
    {"parallel.wrap.min_num_params", "parallel.wrap", "min_num_params"},
    {"data.features", "data.table", "features"},
    {"data.targets", "data.table", "targets"},
    {"data.standardize", "data.table", "standardize"},
    {"data.delimiter", "data.table", "delimiter"},
    {"cluster.min_nodes", "cluster.nodes", "min"},
    {"cluster.max_nodes", "cluster.nodes", "max"},
    {"data.eval_resize", "data.image_size.eval_resize"},
    {"data.eval_limit", "data.limit.eval"},
    {"data.tokenizer_split", "data.tokenizer.split"},
    {"data.tokens_cache", "data.tokenizer.cache"},
    {"train.optimizer.nesterov", "train.optimizer.momentum.nesterov"},
    {"train.optimizer.decay", "train.optimizer.weight_decay.parameters"},
    {"train.clip_grad_norm", "train.clip_grad"},
    {"train.clip_grad_value", "train.clip_grad.value"},
    {"cluster.advertise", "cluster.listen.advertise"},
    {"cluster.data_port", "cluster.listen.data_port"},
};

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void use_moved(Config& config, const char* key, std::string& path) {
  constexpr std::string_view before = "data/";
  if (!path.starts_with(before) || exists(path))
    return;
  auto moved = "datasets/" + path.substr(before.size());
  if (!exists(moved))
    return;
  config.notes.push_back(
      fmt::format("{}: {} does not exist, so {} is used; change the key", key, path, moved));
  path = std::move(moved);
}

} // namespace

OldKeys::OldKeys(Config& config, const std::vector<ConfigKey>& keys) : config_{config} {
  for (const auto& [old, now, field] : renamed) {
    const auto& key = *find_key(keys, field ? fmt::format("{}.{}", now, field) : now);
    add({old, key.target, key.rule, {}}, {now},
        field ? fmt::format("{}: {{{}: VALUE}}", now, field) : now);
  }
  add_others();
  add_waiting();
}

void OldKeys::add(ConfigKey key, std::vector<std::string> replaced, std::string now,
                  std::function<void()> changed) {
  all_.push_back({std::move(key), std::move(replaced), std::move(now), std::move(changed)});
}

/// Adds keys with other values than those that replace them.
void OldKeys::add_others() {
  auto& parallel = config_.parallel;
  add(bound_key("parallel.wrap.policy", parallel.wrap.policy), {"parallel.wrap"},
      "parallel.wrap: per_block, {min_num_params: N} or [NAME, ...]");
  add(bound_key("parallel.wrap.units", parallel.wrap.units), {"parallel.wrap"},
      "parallel.wrap: [NAME, ...]");
  add(bound_key("parallel.offload.target", parallel.offload.target), {"parallel.offload"},
      "parallel.offload: TARGET");
  // Could always be added to the word of a target.
  add(bound_key("parallel.offload.ratio", parallel.offload.ratio, positive_share()), {},
      "parallel.offload: {TARGET: RATIO}");
  add(bound_key("parallel.local_steps", local_steps_, count_to(1e9)),
      {"parallel.local_sgd.steps", "parallel.diloco.steps"},
      "parallel.local_sgd.steps or parallel.diloco.steps",
      [this, &parallel] { parallel.local_sgd.steps = parallel.diloco.steps = local_steps_; });
  add(bound_key("precision.loss_scale.enabled", config_.precision.loss_scale.enabled),
      {"precision.loss_scale"}, "precision.loss_scale: on or off");
  auto& betas = config_.train.optimizer.betas;
  add(bound_key("train.optimizer.beta1", betas[0], fraction()), {"train.optimizer.betas"},
      "train.optimizer.betas: [BETA1, BETA2]");
  add(bound_key("train.optimizer.beta2", betas[1], fraction()), {"train.optimizer.betas"},
      "train.optimizer.betas: [BETA1, BETA2]");
  auto& validation = config_.data.validation;
  add(bound_key("data.validation_part", validation.share, fraction()), {"data.validation"},
      "data.validation");
  add(bound_key("data.test_root", test_root_, a_path()), {"data.validation"}, "data.validation",
      [this, &validation] { validation.path = test_root_.value_or(""); });
}

/// Adds keys whose values apply() uses.
void OldKeys::add_waiting() {
  add(bound_key("data.synthetic_samples", synthetic_samples_, count_to(1000000000)), {},
      "data.limit of the synthetic data set");
  add(bound_key("parallel.max_units_alive", max_units_alive_, at_least(1)), {},
      "parallel.prefetch (at most N - 1)");
  add(bound_key("train.clip_before_unscale", clip_before_unscale_), {}, "");
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

void use_moved_downloads(Config& config) {
  use_moved(config, "data.root", config.data.root);
  use_moved(config, "data.validation", config.data.validation.path);
  use_moved(config, "data.tokenizer", config.data.tokenizer.path);
}

std::string warning_of(const OldKey& old) {
  const auto what = old.now.empty() ? "has no effect" : "is " + old.now;
  return fmt::format("{} {} since 0.2; it will be refused from 0.3", old.key.path, what);
}

} // namespace troupe
