// Tests keys of version 0.1, which are read until 0.3.
#include "core/config/detail/old_keys.hpp"
#include "core/config/validate.hpp"
#include "tests/core/config_fixture.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <set>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// An old key with a value, and the settings that mean the same.
struct Same {
  std::string key, value;
  Lines now;
  Lines with = {}; ///< other settings, for a value that has an effect
};

Lines operator+(Lines settings, const Lines& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

const Lines table = {"data.dataset=csv", "data.root=x", "model.name=mlp",
                     "model.loss=mean_squared_error"};
const Lines in_groups = {"parallel.strategy=diloco", "devices.count=4"};
const std::string scale = "precision.loss_scale";

const std::vector<Same> all_old = {
    {"data.dealing", "speed", {"data.balance=speed"}, {"data.slices=4"}},
    {"data.recorded_dealing", "a", {"data.replay_assignment=a"}, {"data.slices=4"}},
    {"parallel.buddies", "off", {"parallel.replicate_shards=off"}},
    {"parallel.local_after", "7", {"parallel.local_sgd.after=7"}},
    {"parallel.local_momentum", "reset", {"parallel.local_sgd.momentum=reset"}},
    {"parallel.local_steps", "9", {"parallel.local_sgd.steps=9", "parallel.diloco.steps=9"}},
    {"parallel.outer.team", "2", {"parallel.diloco.group_size=2"}, in_groups},
    {"parallel.outer.inner", "zero1", {"parallel.diloco.inner=zero1"}, in_groups},
    {"parallel.outer.lr", "0.5", {"parallel.diloco.lr=0.5"}, in_groups},
    {"parallel.outer.momentum", "0.5", {"parallel.diloco.momentum=0.5"}, in_groups},
    {"parallel.outer.nesterov", "false", {"parallel.diloco.momentum.nesterov=false"}, in_groups},
    {"parallel.outer.fragments", "3", {"parallel.diloco.fragments=3"}, in_groups},
    {"parallel.outer.overlap", "3", {"parallel.diloco.overlap=3"}, in_groups},
    {"parallel.outer.compress", "int8", {"parallel.diloco.compress=int8"}, in_groups},
    {"parallel.outer.error_feedback",
     "false",
     {"parallel.diloco.compress={error_feedback: false}"},
     in_groups},
    {"parallel.outer.quorum", "1", {"parallel.diloco.quorum=1"}, in_groups},
    {"parallel.outer.grace", "3s", {"parallel.diloco.quorum={grace: 3s}"}, in_groups},
    {"parallel.staleness", "5", {"parallel.async.staleness=5"}},
    {"parallel.stale_gradients", "divided", {"parallel.async.policy=divided"}},
    {"parallel.compensation", "0.5", {"parallel.async.compensation=0.5"}},
    {"parallel.patience", "0.5", {"parallel.async.wait_tolerance=0.5"}},
    {"parallel.weight_prediction", "true", {"parallel.async.prediction=true"}},
    {"cluster.timeouts.form", "40s", {"cluster.timeouts.rejoin=40s"}},
    {"data.mean",
     "[0.5, 0.5, 0.5]",
     {"data.normalize.mean=[0.5, 0.5, 0.5]"},
     {"data.normalize.std=[0.5, 0.5, 0.5]"}},
    {"data.std",
     "[0.5, 0.5, 0.5]",
     {"data.normalize.std=[0.5, 0.5, 0.5]"},
     {"data.normalize.mean=[0.5, 0.5, 0.5]"}},
    {scale + ".initial", "8", {scale + "={initial: 8}"}},
    {scale + ".growth_factor", "3", {scale + "={growth_factor: 3}"}},
    {scale + ".backoff_factor", "0.25", {scale + "={backoff_factor: 0.25}"}},
    {scale + ".growth_interval", "9", {scale + "={growth_interval: 9}"}},
    {scale + ".enabled", "false", {scale + "=off"}},
    {"parallel.wrap.policy", "size_based", {"parallel.wrap={min_num_params: 1000000}"}},
    {"parallel.wrap.min_num_params",
     "7",
     {"parallel.wrap={min_num_params: 7}"},
     {"parallel.wrap.policy=size_based"}},
    {"parallel.wrap.units",
     "[layer1]",
     {"parallel.wrap=[layer1]"},
     {"parallel.wrap.policy=explicit"}},
    {"parallel.offload.target", "optimizer", {"parallel.offload=optimizer"}},
    {"parallel.offload.ratio",
     "0.5",
     {"parallel.offload={optimizer: 0.5}"},
     {"parallel.offload=optimizer"}},
    {"data.eval_resize", "64", {"data.image_size={eval_resize: 64}"}},
    {"data.eval_limit", "64", {"data.limit={eval: 64}"}},
    {"data.features",
     "[a]",
     {"data.table={features: [a], targets: [b]}"},
     table + Lines{"data.table.targets=[b]"}},
    {"data.targets",
     "[b]",
     {"data.table={features: [a], targets: [b]}"},
     table + Lines{"data.table.features=[a]"}},
    {"data.standardize", "false", {"data.table={standardize: false}"}},
    {"data.delimiter",
     "tab",
     {"data.table={features: [a], targets: [b], delimiter: tab}"},
     table + Lines{"data.table.features=[a]", "data.table.targets=[b]"}},
    {"data.tokens_cache", "a/b", {"data.tokenizer={cache: a/b}"}},
    {"train.optimizer.nesterov", "true", {"train.optimizer.momentum={nesterov: true}"}},
    {"train.optimizer.decay", "matrices", {"train.optimizer.weight_decay={parameters: matrices}"}},
    {"train.clip_grad_norm", "2", {"train.clip_grad=2"}},
    {"train.clip_grad_value", "2", {"train.clip_grad={value: 2}"}},
    {"cluster.advertise", "a:1", {"cluster.listen={advertise: a:1}"}},
    {"cluster.data_port", "7402", {"cluster.listen={data_port: 7402}"}},
    {"cluster.min_nodes",
     "2",
     {"cluster.nodes={min: 2, max: 3}"},
     {"parallel.strategy=ddp", "cluster.nodes.max=3"}},
    {"cluster.max_nodes", "2", {"cluster.nodes={max: 2}"}},
    {"train.optimizer.beta1", "0.8", {"train.optimizer.betas=[0.8, 0.999]"}},
    {"train.optimizer.beta2", "0.8", {"train.optimizer.betas=[0.9, 0.8]"}},
    {"data.validation_part", "0.25", {"data.validation=0.25"}},
    {"data.test_root", "a/b", {"data.validation=a/b"}},
    {"data.tokenizer_split",
     "gpt2",
     {"data.tokenizer={path: a, split: gpt2}"},
     {"data.tokenizer=a"}},
    {"data.synthetic_samples", "256", {"data.limit=256"}},
    {"parallel.max_units_alive", "2", {"parallel.prefetch=1"}, {"parallel.prefetch=5"}},
    {"train.clip_before_unscale", "true", {}},
};

Config without_notes(Config config) {
  config.notes.clear();
  return config;
}

/// The setting as a file: "a.b=c" in nested mappings.
std::string as_file(const std::string& key, const std::string& value) {
  const auto dot = key.find('.');
  return dot == std::string::npos
             ? key + ": " + value
             : key.substr(0, dot) + ": {" + as_file(key.substr(dot + 1), value) + "}";
}

} // namespace

TEST_CASE("every old key sets what replaces it, in overrides, files and given values") {
  for (const auto& [key, value, now, with] : all_old) {
    INFO(key);
    const Lines data = {"data.dataset=synthetic"};
    // Old settings of `with` belong to the old key, and what is new replaces all of them.
    Lines others;
    std::ranges::copy_if(with, std::back_inserter(others), [&](const std::string& setting) {
      return !setting.starts_with("parallel.wrap") && !setting.starts_with("parallel.offload") &&
             !setting.starts_with("data.tokenizer") && !setting.starts_with("parallel.prefetch");
    });
    const auto expected = good("", data + others + now);
    CHECK(without_notes(good("", data + with + Lines{key + "=" + value})) ==
          without_notes(expected));
    const std::vector<GivenValue> given = {{key, value, "VARIABLE"}};
    const auto launched =
        parse_config("", "a.yaml", data + with, Capabilities::all(), nn::model_catalogue(), given);
    // A value that replaces the whole mapping also replaces what the launcher gives.
    if (with == others) {
      REQUIRE(launched);
      CHECK(without_notes(*launched) == without_notes(expected));
      CHECK(without_notes(good(as_file(key, value), data + with)) == without_notes(expected));
    }
  }
}

TEST_CASE("the test above has every old key, and each has a warning") {
  Config config;
  const auto keys = config_keys(config, nn::model_catalogue()), all = with_fields(keys);
  const OldKeys old{config, all};
  CHECK(old.all().size() == all_old.size());
  std::set<std::string> paths, with_those_of_fields;
  for (const auto& key : keys)
    paths.insert(key.path);
  for (const auto& key : all)
    with_those_of_fields.insert(key.path);
  for (const auto& each : old.all()) {
    INFO(each.key.path);
    CHECK(std::ranges::count(all_old, each.key.path, &Same::key) == 1);
    CHECK_FALSE(paths.contains(each.key.path));
    for (const auto& now : each.replaced)
      CHECK(with_those_of_fields.contains(now));
  }
}

TEST_CASE("an old key causes one warning with its new name") {
  const auto notes = [](const std::string& text, const Lines& overrides = {}) {
    return config_notes(good(text, overrides), nn::model_catalogue());
  };
  CHECK(notes(synthetic + "parallel: {buddies: off}\n", {"parallel.buddies=auto"}) ==
        Lines{"parallel.buddies is parallel.replicate_shards since 0.2; it will be refused from "
              "0.3"});
  CHECK(notes(synthetic, {"parallel.outer={lr: 0.5}", "precision.loss_scale.enabled=false"}) ==
        Lines{"parallel.outer.lr is parallel.diloco.lr since 0.2; it will be refused from 0.3",
              "precision.loss_scale.enabled is precision.loss_scale: on or off since 0.2; it will "
              "be refused from 0.3"});
  CHECK(notes(synthetic, {"train.clip_before_unscale=false"}) ==
        Lines{"train.clip_before_unscale has no effect since 0.2; it will be refused from 0.3"});
  CHECK(notes(synthetic).empty());
}

TEST_CASE("an old key together with the key that replaces it is refused") {
  CHECK(problems(synthetic + "parallel: {buddies: on, replicate_shards: off}\n") ==
        Lines{"a.yaml:2:12: parallel.buddies: given together with parallel.replicate_shards, "
              "which replaces it; allowed: one of them"});
  CHECK(problems(synthetic, {"parallel.local_steps=4", "parallel.diloco.steps=4"}) ==
        Lines{"--set parallel.local_steps=4: parallel.local_steps: given together with "
              "parallel.diloco.steps, which replaces it; allowed: one of them"});
  CHECK(problems(synthetic + "cluster: {nodes: 2, min_nodes: 1}\n").at(0) ==
        "a.yaml:2:21: cluster.min_nodes: given together with cluster.nodes, which replaces it; "
        "allowed: one of them");
  CHECK(problems("data: {dataset: synthetic, limit: {eval: 5}, eval_limit: 5}\n").size() == 1);
  // An override replaces what the file says, by either name.
  CHECK(good("parallel: {local_steps: 4}\n" + synthetic, {"parallel.diloco.steps=8"})
            .parallel.diloco.steps == 8);
  CHECK(good("parallel: {diloco: {steps: 4}}\n" + synthetic, {"parallel.local_steps=8"})
            .parallel.diloco.steps == 8);
}

TEST_CASE("an old key in the file or an override replaces what a launcher gives") {
  const std::vector<GivenValue> given = {{"cluster.nodes", "3", "WORLD_SIZE"},
                                         {"cluster.listen.advertise", "a:1", "MASTER_ADDR"}};
  for (const auto& overrides : {Lines{}, Lines{"cluster.min_nodes=2", "cluster.advertise=b:1"}}) {
    const auto* const file = overrides.empty() ? "cluster: {min_nodes: 2, advertise: b:1}\n" : "";
    const auto config = parse_config(synthetic + "parallel: {strategy: ddp}\n" + file, "a.yaml",
                                     overrides, Capabilities::all(), nn::model_catalogue(), given);
    REQUIRE(config);
    CHECK(config->cluster.min_nodes == 2);
    CHECK(config->cluster.max_nodes == 3);
    CHECK(config->cluster.advertise == "b:1");
    CHECK(config->notes.size() == 2);
  }
}

TEST_CASE("an old key that is a field now may be given together with the plain value") {
  for (const auto* optimizer : {"momentum: 0.8, nesterov: true", "nesterov: true, momentum: 0.8"}) {
    const auto config =
        good(synthetic + "train: {optimizer: {" + optimizer + "}}\n").train.optimizer;
    CHECK(config.momentum == 0.8);
    CHECK(config.nesterov);
  }
}

TEST_CASE("old mappings of keys that have several forms now are read") {
  const auto old = good(R"(
data: {dataset: synthetic}
precision: {loss_scale: {enabled: false, initial: 65536, growth_factor: 2}}
parallel:
  wrap: {policy: size_based, min_num_params: 5000, units: []}
  offload: {target: optimizer, ratio: 0.25}
)");
  CHECK_FALSE(old.precision.loss_scale.enabled);
  CHECK(old.parallel.wrap ==
        WrapConfig{.policy = WrapConfig::Policy::size_based, .min_num_params = 5000});
  CHECK(old.parallel.offload == OffloadConfig{OffloadConfig::Target::optimizer, 0.25});
  const auto blocks =
      good(synthetic, {"parallel.wrap={policy: per_block, min_num_params: 1000000, units: []}"});
  CHECK(blocks.parallel.wrap == WrapConfig{});
  CHECK(problems(synthetic + "parallel: {wrap: {policy: per_block, unit: [a]}}\n").size() == 1);
}

TEST_CASE("mistakes with old keys are reported as before") {
  const auto one = [](const Lines& overrides) { return only_conflict(synthetic, overrides); };
  CHECK(one({"parallel.outer.team=0"}) ==
        "parallel.outer.team: 0 is out of range; allowed: a whole number, 1 to 1024");
  CHECK(one({"parallel.outer.tem=0"}).starts_with("parallel.outer: unknown key"));
  CHECK(one({"parallel.wrap.policy=explicit"})
            .starts_with("parallel.wrap.units: policy explicit requires the names of units"));
  CHECK(one({"parallel.wrap={policy: per_block, units: [layer1]}"})
            .starts_with("parallel.wrap.units: units are only for policy explicit"));
  CHECK(one({"parallel.offload.ratio=0.5"})
            .starts_with("parallel.offload.ratio: the ratio has no effect"));
  for (const auto* clip : {"train.clip_grad_norm=1", "train.clip_grad_value=1"}) {
    const Lines before = {"train.clip_before_unscale=true", "precision.mode=amp_fp16", clip};
    CHECK(one(before).starts_with("train.clip_before_unscale: gradients would be clipped with the "
                                  "loss scale, in every step"));
    CHECK(problems(synthetic, before + Lines{"precision.loss_scale=off"}).empty());
  }
}

TEST_CASE("the config of a run of version 0.1 is read") {
  const auto text = read_bytes(source_tree() / "tests/fixtures/old_run/config.yaml");
  const auto config = good(text);
  CHECK(config.notes.size() == 21);
  CHECK(without_notes(good(printed(config))) == without_notes(config));
}
