// Tests overrides of config keys (--set): their order, their fields and their problems.
#include "tests/core/config_fixture.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("an override sets one field of a mapping and keeps the others") {
  const auto scale = [](const std::string& value, const std::vector<std::string>& overrides) {
    return good(synthetic + "precision: {loss_scale: " + value + "}\n", overrides)
        .precision.loss_scale;
  };
  CHECK(scale("{initial: 8, growth_factor: 4}", {"precision.loss_scale.growth_factor=3"}) ==
        LossScaleConfig{.initial = 8, .growth_factor = 3});
  CHECK(scale("off", {"precision.loss_scale.initial=8"}) == LossScaleConfig{.initial = 8});
  CHECK(scale("{initial: 8}", {"precision.loss_scale={growth_factor: 3}"}) ==
        LossScaleConfig{.growth_factor = 3}); // the whole value
  CHECK(problems(synthetic, {"precision.loss_scale.initial=0"}) ==
        Lines{"--set precision.loss_scale.initial=0: precision.loss_scale.initial: 0 is out of "
              "range; allowed: a number, above 0 and at most 1e+30"});
}

TEST_CASE("a value of a key with fields keeps the fields that it does not give") {
  const auto train = [](const std::string& value, const std::vector<std::string>& overrides) {
    return good(synthetic + "train: {optimizer: {momentum: " + value + "}}\n", overrides)
        .train.optimizer;
  };
  CHECK(train("{value: 0.5, nesterov: true}", {}) ==
        OptimizerConfig{.momentum = 0.5, .nesterov = true});
  CHECK(train("{nesterov: true}", {"train.optimizer.momentum=0.8"}) ==
        OptimizerConfig{.momentum = 0.8, .nesterov = true});
  CHECK(train("0.8", {"train.optimizer.momentum.nesterov=true"}) ==
        OptimizerConfig{.momentum = 0.8, .nesterov = true});
  CHECK(train("0.8", {"train.optimizer.momentum={nesterov: true}"}) ==
        OptimizerConfig{.momentum = 0.8, .nesterov = true});
  const auto* const ddp = "parallel.strategy=ddp";
  const auto nodes = [](const Lines& overrides) {
    const auto cluster = good(synthetic, overrides).cluster;
    return std::pair{cluster.min_nodes, cluster.max_nodes};
  };
  CHECK(nodes({ddp, "cluster.nodes=2"}) == std::pair<std::int64_t, std::int64_t>{2, 2});
  CHECK(nodes({ddp, "cluster.nodes=4", "cluster.nodes={min: 2}"}) ==
        std::pair<std::int64_t, std::int64_t>{2, 4});
  CHECK(problems(synthetic + "train: {clip_grad: {norm: 1, valeu: 2}}\n") ==
        Lines{"a.yaml:2:20: train.clip_grad: the mapping has names that are not allowed here; "
              "allowed: a number, above 0, or null, {norm: NUMBER, value: NUMBER}"});
  CHECK(problems(synthetic, {"train.clip_grad.valeu=2"}) ==
        Lines{"--set train.clip_grad.valeu=2: train.clip_grad.valeu: unknown key; allowed: norm, "
              "value; did you mean \"value\"?"});
}

TEST_CASE("a plain value states the field that it sets, and no other") {
  const ScratchFolder folder;
  const auto file = folder / "a.yaml";
  const auto stated = [&](const std::string& listen, const Lines& overrides) {
    write_bytes(file, "cluster: {listen: " + listen + "}\n");
    return stated_values(file, overrides, nn::model_catalogue());
  };
  const auto plain = stated("0.0.0.0:7500", {"cluster.listen.advertise=a:1"});
  CHECK(plain.at("cluster.listen.address").text == "\"0.0.0.0:7500\"");
  CHECK(plain.at("cluster.listen.address").from == file.string() + ":1:19");
  CHECK(plain.at("cluster.listen.advertise").from == "--set cluster.listen.advertise=a:1");
  CHECK(stated("{address: a:1}", {"cluster.listen=b:1"}).at("cluster.listen.address").from ==
        "--set cluster.listen=b:1");
  CHECK_FALSE(stated("{data_port: 0}", {}).contains("cluster.listen.address"));
}

TEST_CASE("overrides apply after the file, in order, and accept YAML") {
  const auto c = good(synthetic + "train: {epochs: 5}\n",
                      {"train.epochs=6", "train.epochs=7", "data.augment=[crop, flip]",
                       "train.optimizer={name: adam, lr: 1e-3}", "train.max_steps=null",
                       "checkpoint.every=2 epochs", "metrics.listen=127.0.0.1:0"});
  CHECK(c.train.epochs == 7);
  CHECK(c.data.augment == std::vector{Augmentation::crop, Augmentation::flip});
  CHECK(c.train.optimizer.name == OptimizerKind::adam);
  CHECK(c.train.optimizer.lr == 1e-3);
  CHECK(c.checkpoint.every == Interval{Interval::Unit::epochs, 2});
  CHECK(c.metrics.listen == "127.0.0.1:0");
}

TEST_CASE("problems of overrides are reported with the typed text") {
  CHECK(problems(synthetic, {"train.epochs=ten"}) ==
        Lines{"--set train.epochs=ten: train.epochs: \"ten\" has the wrong type; allowed: a whole "
              "number, 1 to 1000000, or null"});
  CHECK(problems(synthetic, {"train.epochs"}) ==
        Lines{"--set train.epochs: not an assignment; allowed: KEY=VALUE, such as train.epochs=3"});
  CHECK(problems(synthetic, {"data.limit=["}) ==
        Lines{"--set data.limit=[: data.limit: not YAML: end of sequence flow not found"});
  CHECK(problems(synthetic, {"run.name.x=3"}) ==
        Lines{"--set run.name.x=3: run.name.x: unknown key: run.name is a value, not a section"});
  CHECK(problems(synthetic, {"train.optimizer={lr: 1, lr: 2}"}) ==
        Lines{"--set train.optimizer={lr: 1, lr: 2}: train.optimizer.lr: given twice"});
}
