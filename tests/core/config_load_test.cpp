// Tests parsing: from the text of a config to its values or its problems.
#include "core/config/validate.hpp"
#include "tests/core/config_fixture.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

TEST_CASE("an empty file is the default config, except for the data set") {
  CHECK(problems("") == Lines{"a.yaml: data.root: dataset cifar10 requires the folder of its "
                              "files; allowed: a folder; tools/fetch-data downloads data sets"});
  auto expected = default_config(nn::model_catalogue());
  expected.data.dataset = "synthetic";
  CHECK(good("", {"data.dataset=synthetic"}) == expected);
  CHECK(good(synthetic + "run:\ntrain: ~\n") == expected); // sections without keys
}

TEST_CASE("models with their keys and checks are passed in") {
  Catalogue models{.names = {"oak", "fir"}, .default_value = "fir"};
  models.keys = [](ModelConfig& model) -> std::vector<ConfigKey> {
    return {{"model.hidden", &model.hidden, {.min = 1}, "Rings"}};
  };
  models.conflicts = [](const Config& config) -> ConfigConflicts {
    if (config.model.hidden.size() == 1)
      return {};
    return {{{"model.hidden", "model.name"}, config.model.name + " has one ring", "[N]"}};
  };
  models.notes = [](const Config& config) -> std::vector<std::string> {
    return {config.model.name + " is old"};
  };
  const auto load = [&](const std::string& model) {
    return parse_config(synthetic + "model: " + model, "a.yaml", {}, Capabilities::all(), models);
  };
  const auto fir = load("{hidden: [3]}");
  REQUIRE(fir);
  CHECK(fir->model.name == "fir");
  CHECK(fir->model.hidden == std::vector<std::int64_t>{3});
  CHECK(config_notes(*fir, models) == Lines{"fir is old"});
  CHECK(
      to_error(load("{name: oka}").error()).message ==
      "a.yaml:2:15: model.name: \"oka\" is not a choice; allowed: oak, fir; did you mean \"oak\"?");
  CHECK(to_error(load("{name: oak, hidden: [1, 2]}").error()).message ==
        "a.yaml:2:28: model.hidden: oak has one ring; allowed: [N]");
  CHECK(
      to_error(load("{width: 3}").error()).message.starts_with("a.yaml:2:9: model.width: unknown"));
}

TEST_CASE("more threads than cores cause a warning with the cost and the useful maximum") {
  const auto warning = [](std::int64_t count, std::int64_t threads, std::int64_t cores) {
    DevicesConfig devices;
    devices.count = count, devices.threads_per_worker = threads;
    return thread_warning(devices, cores);
  };
  CHECK(warning(1, 2, 2).empty());
  CHECK(warning(4, 0, 2).empty()); // 0: as many threads as fit
  CHECK(warning(4, 1, 2).empty()); // one thread per worker never waits for another
  CHECK(warning(1, 64, 2).starts_with("devices.threads_per_worker: 64 threads share 2 cores: "));
  CHECK(warning(1, 64, 2).find("24.9 s") != std::string::npos);
  CHECK(warning(1, 64, 2).ends_with("set it to 0 or at most 2"));
  CHECK(warning(2, 4, 6).ends_with("set it to 0 or at most 3"));
}

TEST_CASE("a data set in datasets/ is used with a warning if the config names it in data/") {
  const testing::ScratchFolder scratch;
  const auto before = std::filesystem::current_path();
  std::filesystem::create_directories(scratch.path() / "datasets/cifar10");
  std::filesystem::create_directories(scratch.path() / "data/mnist");
  std::filesystem::create_directories(scratch.path() / "datasets/mnist");
  std::filesystem::current_path(scratch.path());
  const auto root_of = [](const std::string& root) {
    const auto config = good("data: {dataset: cifar10}\n", {"data.root=" + root});
    return std::pair{config.data.root, config_notes(config, nn::model_catalogue())};
  };
  CHECK(root_of("data/cifar10") == std::pair{std::string{"datasets/cifar10"},
                                             Lines{"data.root: data/cifar10 does not exist, so "
                                                   "datasets/cifar10 is used; change the key"}});
  CHECK(root_of("data/mnist") == std::pair{std::string{"data/mnist"}, Lines{}});
  CHECK(root_of("data/kjv") == std::pair{std::string{"data/kjv"}, Lines{}});
  std::filesystem::current_path(before);
}

TEST_CASE("keys without effect cause notes") {
  const auto notes = [](const std::vector<std::string>& overrides) {
    return config_notes(good(synthetic, overrides), nn::model_catalogue());
  };
  CHECK(notes({"model.hidden=[512]"}).empty());
  CHECK(notes({"model.hidden=[8]"}) ==
        Lines{"model.hidden has no effect: resnet20 has no hidden layers"});
  CHECK(notes({"model.hidden=[8]", "model.name=mlp"}).empty());
}

TEST_CASE("every type of value is read") {
  const auto c = good(R"(
run: {name: "2024", deterministic: true, seed: 18446744073709551615}
model: {hidden: [3, 4], pretrained: a b/c.ckpt}
data: {dataset: synthetic, augment: [flip], limit: 500, batch_size: +128}
train:
  optimizer: {name: sgd, lr: 5e-4, weight_decay: 1, momentum: {nesterov: True}}
  schedule: {milestones: [0.5, 2]}
  clip_grad: null
  max_steps: ~
  freeze: [stem, layer1.0]
  lr_scale: {fc: 10, layer2: 0.5}
parallel: {bucket_size: 1.5MiB}
cluster: {timeouts: {drain: 2min}}
checkpoint: {every: 20 steps}
metrics: {listen: off}
)");
  CHECK(c.run.name == "2024");
  CHECK(c.run.deterministic);
  CHECK(c.run.seed == UINT64_MAX);
  CHECK(c.model.hidden == std::vector<std::int64_t>{3, 4});
  CHECK(c.model.pretrained == "a b/c.ckpt");
  CHECK(c.data.augment == std::vector{Augmentation::flip});
  CHECK(c.data.limit == 500);
  CHECK(c.data.batch_size == 128);
  CHECK(c.train.optimizer.lr == 5e-4);
  CHECK(c.train.optimizer.weight_decay == 1.0);
  CHECK(c.train.optimizer.nesterov);
  CHECK(c.train.schedule.milestones == std::vector<Length>{{0.5}, {2}});
  CHECK(!c.train.clip_grad_norm);
  CHECK(!c.train.max_steps);
  CHECK(c.train.freeze == std::vector<std::string>{"stem", "layer1.0"});
  CHECK(c.train.lr_scale == std::map<std::string, double>{{"fc", 10}, {"layer2", 0.5}});
  CHECK(c.parallel.bucket_size == 3u << 19);
  CHECK(c.cluster.timeouts.drain == 2min);
  CHECK(c.checkpoint.every == Interval{Interval::Unit::steps, 20});
  CHECK(c.metrics.listen == "off");
}

TEST_CASE("an unknown key is reported with its location, the allowed keys and the nearest one") {
  CHECK(
      problems(synthetic + "train:\n  ephocs: 3\n") ==
      Lines{
          "a.yaml:3:3: train.ephocs: unknown key; allowed: epochs, max_steps, max_tokens, sample, "
          "accumulate, clip_grad, gradient_norm_every, label_smoothing, freeze, lr_scale, "
          "recompute, evaluate_every, optimizer, schedule; did you mean \"epochs\"?"});
  CHECK(
      problems(synthetic + "cluster: {banana: 1}\n") ==
      Lines{
          "a.yaml:2:11: cluster.banana: unknown key; allowed: listen, join, nodes, insecure, tls, "
          "timeouts"});
  CHECK(problems(synthetic + "Metric: {}\n") ==
        Lines{"a.yaml:2:1: Metric: unknown key; allowed: run, model, data, train, precision, "
              "parallel, devices, cluster, checkpoint, metrics; did you mean \"metrics\"?"});
}

TEST_CASE("a key in the wrong section is reported with the right section") {
  const auto lines = problems(synthetic + "train: {lr: 0.1}\n");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].ends_with("; did you mean \"train.optimizer.lr\"?"));
}

TEST_CASE("a value of the wrong type is reported with its location") {
  const auto one = [](const std::string& line) {
    const auto lines = problems(synthetic + line + "\n");
    return lines.size() == 1 ? lines[0] : to_error({}).message + std::to_string(lines.size());
  };
  CHECK(one("train: {epochs: ten}") ==
        "a.yaml:2:17: train.epochs: \"ten\" has the wrong type; allowed: a whole number, "
        "1 to 1000000, or null");
  CHECK(one("train: {epochs: 1.5}") ==
        "a.yaml:2:17: train.epochs: 1.5 has the wrong type; allowed: a whole number, 1 to 1000000, "
        "or null");
  CHECK(one("train: {epochs: \"3\"}") ==
        "a.yaml:2:17: train.epochs: \"3\" has the wrong type; allowed: a whole number, "
        "1 to 1000000, or null");
  CHECK(one("train: {epochs: [3]}") ==
        "a.yaml:2:17: train.epochs: a list has the wrong type; allowed: a whole number, "
        "1 to 1000000, or null");
  CHECK(one("train: {accumulate: }") ==
        "a.yaml:2:9: train.accumulate: needs a value; allowed: a whole number, 1 to 1000000");
  CHECK(
      one("train: {optimizer: {lr: {a: 1}}}") ==
      "a.yaml:2:25: train.optimizer.lr: a mapping has the wrong type; allowed: a number, above 0");
  CHECK(one("train: {optimizer: {lr: .inf}}") ==
        "a.yaml:2:25: train.optimizer.lr: \".inf\" has the wrong type; allowed: a number, above 0");
  CHECK(
      one("train: {optimizer: sgd}") ==
      "a.yaml:2:20: train.optimizer: \"sgd\" has the wrong type; allowed: a mapping with name, lr, "
      "momentum, weight_decay, betas, eps");
  CHECK(one("run: {deterministic: yes}") ==
        "a.yaml:2:22: run.deterministic: \"yes\" has the wrong type; allowed: true or false; "
        "did you mean \"true\"?");
  CHECK(one("run: {output: 12}") == "a.yaml:2:15: run.output: 12 is not text; write it in quotes; "
                                    "allowed: text (~/ is the home folder)");
  CHECK(one("model: {hidden: [1, two]}") ==
        "a.yaml:2:21: model.hidden[1]: \"two\" has the wrong type; allowed: a list; each item: "
        "a whole number, 1 to 1000000");
  CHECK(one("model: {hidden: 64}") ==
        "a.yaml:2:17: model.hidden: 64 has the wrong type; allowed: a list; each item: a whole "
        "number, 1 to 1000000; did you mean \"[64]\"?");
  CHECK(one("parallel: {bucket_size: 25 parsecs}") ==
        "a.yaml:2:25: parallel.bucket_size: \"25 parsecs\" is not a size; allowed: bytes or a size "
        "such as 512KiB, 25MiB, 1GiB, at least 1024");
  CHECK(one("cluster: {timeouts: {drain: 5}}") ==
        "a.yaml:2:29: cluster.timeouts.drain: 5 is not a duration; allowed: a duration such as "
        "100ms, 5s, 1min, 2h");
  CHECK(one("train: {lr_scale: 10}") ==
        "a.yaml:2:19: train.lr_scale: 10 has the wrong type; allowed: a mapping of names to "
        "numbers; each: a number, at least 0");
  CHECK(one("train: {lr_scale: {fc: fast}}") ==
        "a.yaml:2:19: train.lr_scale: \"fast\" has the wrong type; allowed: a mapping of names to "
        "numbers; each: a number, at least 0");
  CHECK(one("train: {lr_scale: {fc: 1, fc: 2}}") ==
        "a.yaml:2:19: train.lr_scale: fc is given twice; allowed: a mapping of names to numbers; "
        "each: a number, at least 0");
  CHECK(one("checkpoint: {every: 1 week}") ==
        "a.yaml:2:21: checkpoint.every: \"1 week\" is not an interval; allowed: N epochs, N steps, "
        "never");
}

TEST_CASE("a value with several forms is read in each of them") {
  using Target = OffloadConfig::Target;
  const auto parallel = [](const std::string& values) {
    return good(synthetic + "parallel: {" + values + "}\n").parallel;
  };
  CHECK(parallel("offload: optimizer").offload == OffloadConfig{Target::optimizer, 1});
  CHECK(parallel("strategy: fsdp, offload: {parameters: 0.5}").offload ==
        OffloadConfig{Target::parameters, 0.5});
  CHECK(parallel("wrap: per_block").wrap == WrapConfig{});
  CHECK(parallel("wrap: {min_num_params: 5}").wrap ==
        WrapConfig{.policy = WrapConfig::Policy::size_based, .min_num_params = 5});
  CHECK(parallel("wrap: [layer1, head]").wrap ==
        WrapConfig{.policy = WrapConfig::Policy::by_name, .units = {"layer1", "head"}});
  CHECK(parallel("mixed_precision: {reduce: bf16}").mixed_precision ==
        MixedPrecisionConfig{.reduce = DType::bf16});
  const auto data = [](const std::string& values) {
    return good("data: {dataset: synthetic, " + values + "}\n").data;
  };
  CHECK(data("validation: 0.25").validation == ValidationConfig{.share = 0.25});
  CHECK(data("validation: a/b.txt").validation == ValidationConfig{.path = "a/b.txt"});
  CHECK(data("tokenizer: gpt2").tokenizer == TokenizerConfig{.path = "gpt2"});
  CHECK(data("tokenizer: {path: a.tiktoken, split: cl100k}").tokenizer ==
        TokenizerConfig{"a.tiktoken", TokenizerSplit::cl100k});
  CHECK(data("normalize: null").normalize == NormalizeConfig{});
  const auto scale = [](const std::string& value) {
    return good(synthetic + "precision: {loss_scale: " + value + "}\n").precision.loss_scale;
  };
  CHECK(scale("on") == LossScaleConfig{});
  CHECK(scale("off") == LossScaleConfig{.enabled = false});
  CHECK(scale("{initial: 8}") == LossScaleConfig{.initial = 8});
  const auto resume = [](const std::string& value) {
    return good(synthetic + "checkpoint: {resume: " + value + "}\n").checkpoint.resume;
  };
  CHECK(resume("never") == ResumeConfig{.kind = ResumeConfig::Kind::never});
  CHECK(resume("a/b") == ResumeConfig{ResumeConfig::Kind::path, "a/b"});
}

TEST_CASE("a value in none of its forms is reported with all of them") {
  const auto one = [](const std::string& offload) {
    return problems(synthetic + "parallel: {offload: " + offload + "}\n").at(0);
  };
  const std::string allowed = "; allowed: none, optimizer, parameters, {optimizer: NUMBER}, "
                              "{parameters: NUMBER}";
  CHECK(one("disk") == "a.yaml:2:21: parallel.offload: \"disk\" is not a choice" + allowed);
  CHECK(one("optimiser").ends_with("; did you mean \"optimizer\"?"));
  CHECK(one("[optimizer]") == "a.yaml:2:21: parallel.offload: a list has the wrong type" + allowed);
  CHECK(one("{disk: 1}") ==
        "a.yaml:2:21: parallel.offload: the mapping has names that are not allowed here" + allowed);
  CHECK(one("{}") == "a.yaml:2:21: parallel.offload: the mapping is empty" + allowed);
  CHECK(one("{optimizer: 1, optimizer: 1}") ==
        "a.yaml:2:36: parallel.offload.optimizer: given twice, first in line 2");
  const std::string share = "; allowed: a number, above 0 and at most 1";
  CHECK(one("{optimizer: much}") ==
        "a.yaml:2:33: parallel.offload.optimizer: \"much\" has the wrong type" + share);
  CHECK(one("{optimizer: 2}") ==
        "a.yaml:2:33: parallel.offload.optimizer: 2 is out of range" + share);
  CHECK(one("\"\"") == "a.yaml:2:21: parallel.offload: \"\" is not a choice" + allowed);
  CHECK(problems(synthetic + "train: {recompute: }\n") ==
        Lines{"a.yaml:2:9: train.recompute: needs a value; allowed: none, block, a list that is "
              "not empty; each item: text, {fit: SIZE}"});
  CHECK(problems(synthetic + "parallel: {wrap: [stem, 1]}\n") ==
        Lines{"a.yaml:2:25: parallel.wrap[1]: 1 is not text; write it in quotes; allowed: "
              "per_block, {min_num_params: N}, a list that is not empty; each item: text"});
  CHECK(problems(synthetic + "train: {optimizer: {betas: [0.9]}}\n") ==
        Lines{"a.yaml:2:28: train.optimizer.betas: 1 numbers instead of 2; allowed: a list of two; "
              "each item: a number, at least 0 and below 1"});
}

TEST_CASE("a value that is not allowed is reported with the allowed ones") {
  const auto one = [](const std::string& line) { return problems(synthetic + line + "\n").at(0); };
  CHECK(one("train: {epochs: 0}") ==
        "a.yaml:2:17: train.epochs: 0 is out of range; allowed: a whole number, 1 to 1000000, or "
        "null");
  CHECK(one("run: {seed: -1}") ==
        "a.yaml:2:13: run.seed: -1 is out of range; allowed: a whole number, at least 0");
  CHECK(one("train: {max_steps: 99999999999999999999}") ==
        "a.yaml:2:20: train.max_steps: 99999999999999999999 is out of range; allowed: a whole "
        "number, at least 1, or null");
  CHECK(one("train: {label_smoothing: 1}") ==
        "a.yaml:2:26: train.label_smoothing: 1 is out of range; allowed: a number, at least 0 and "
        "below 1");
  CHECK(one("train: {clip_grad: 0}") == "a.yaml:2:20: train.clip_grad: 0 is out of range; allowed: "
                                        "a number, above 0, or null, {norm: "
                                        "NUMBER, value: NUMBER}");
  CHECK(one("train: {optimizer: {name: sdg}}") ==
        "a.yaml:2:27: train.optimizer.name: \"sdg\" is not a choice; allowed: sgd, adam, adamw; "
        "did you mean \"sgd\"?");
  CHECK(one("run: {name: a/b}") ==
        "a.yaml:2:13: run.name: \"a/b\" is not a folder name; allowed: text without slashes");
  CHECK(one("run: {name: \"a\\nb\"}") ==
        "a.yaml:2:13: run.name: \"a\\nb\" is not a folder name; allowed: text without slashes");
  CHECK(
      one("metrics: {listen: nowhere}") ==
      "a.yaml:2:19: metrics.listen: \"nowhere\" is not an address; allowed: HOST:PORT or \"off\"");
  CHECK(problems("data: {dataset: synthetic, augment: [flip, crob]}\n") ==
        Lines{"a.yaml:1:44: data.augment[1]: \"crob\" is not a choice; allowed: a list; each item: "
              "crop, resized_crop, flip; did you mean \"crop\"?"});
}

TEST_CASE("text that is not UTF-8 is refused with its location and key") {
  const auto one = [](const std::string& line) { return problems(synthetic + line + "\n").at(0); };
  CHECK(one("run: {name: \"a\xff\"}") ==
        "a.yaml:2:13: run.name: \"a\\xff\" is not UTF-8; allowed: text without slashes");
  CHECK(
      one("run: {output: runs\xc3}") ==
      "a.yaml:2:15: run.output: \"runs\\xc3\" is not UTF-8; allowed: text (~/ is the home folder)");
  CHECK(one("model: {pretrained: \xe4\xb8}").starts_with("a.yaml:2:21: model.pretrained: "));
  CHECK(one("train: {freeze: [stem, \xff]}").starts_with("a.yaml:2:24: train.freeze[1]: "));
  CHECK(one("train: {lr_scale: {\xff: 2}}").starts_with("a.yaml:2:19: train.lr_scale: "));
  CHECK(problems(synthetic, {"data.root=\xff"}) ==
        Lines{"--set data.root=\\xff: data.root: \"\\xff\" is not UTF-8; allowed: text (~/ is the "
              "home folder)"});
  CHECK(good(synthetic + "run: {name: \u00e9\u4e16}").run.name == "\u00e9\u4e16");
}

TEST_CASE("a learning rate factor of 0 or less is refused") {
  CHECK(problems(synthetic + "train: {lr_scale: {fc: 0}}\n") ==
        Lines{"a.yaml:2:19: train.lr_scale: fc: a factor of 0 would not train it; allowed: above "
              "0; to keep it unchanged, use train.freeze"});
  CHECK(problems(synthetic + "train: {lr_scale: {fc: -1}}\n") ==
        Lines{"a.yaml:2:19: train.lr_scale: fc: -1 is out of range; allowed: a mapping of names to "
              "numbers; each: a number, at least 0"});
}

TEST_CASE("a key that is given twice is reported with both locations") {
  CHECK(problems(synthetic + "train:\n  epochs: 1\n  epochs: 2\n") ==
        Lines{"a.yaml:4:3: train.epochs: given twice, first in line 3"});
  CHECK(problems(synthetic + "run: {}\nrun: {}\n") ==
        Lines{"a.yaml:3:1: run: given twice, first in line 2"});
  CHECK(problems(synthetic + "run: {}\nrun: {}\nrun: {}\nrun: {}\n") ==
        Lines{"a.yaml:3:1: run: given 4 times, first in line 2"}); // one line
}

TEST_CASE("echoed text is truncated and contains no control characters") {
  const std::string many(5000, '7');
  const auto cut = std::string(200, '7') + "...";
  CHECK(problems(synthetic + "train: {epochs: " + many + "}\n") ==
        Lines{"a.yaml:2:17: train.epochs: " + cut +
              " is out of range; allowed: a whole number, 1 to 1000000, or null"});
  const auto of_override = problems(synthetic, {"train.epochs=" + many});
  REQUIRE(of_override.size() == 1);
  CHECK(of_override[0].size() < 700);
  const auto unknown = problems(synthetic + many.substr(0, 1000) + ": 1\n");
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].starts_with("a.yaml:2:1: " + cut + ": unknown key"));
  CHECK(problems(synthetic + "model: {name: \"\\e[31m\\x9b\\u202E\"}\n")[0].starts_with(
      "a.yaml:2:15: model.name: \"\\x1b[31m\\u{9b}\\u{202e}\" is not a choice"));
}

TEST_CASE("a list has at most 1024 items, and at most 10 wrong ones are reported") {
  const auto list = [](int items, const std::string& item) {
    std::string text = "model: {name: mlp, hidden: [" + item;
    for (int i = 1; i < items; ++i)
      text += ", " + item;
    return synthetic + text + "]}\n";
  };
  CHECK(good(list(1024, "2")).model.hidden.size() == 1024);
  CHECK(problems(list(20'000, "2")) ==
        Lines{"a.yaml:2:28: model.hidden: 20000 items exceed the limit of 1024; allowed: a list; "
              "each item: a whole number, 1 to 1000000"});
  const auto wrong = problems(list(100, "x"));
  REQUIRE(wrong.size() == 11);
  CHECK(wrong.front() == "a.yaml:2:28: model.hidden: 90 more items are wrong");
}

TEST_CASE("all problems are reported at once: those of the file by line, then those of overrides") {
  const auto lines = problems("metrics: {listen: x}\n"
                              "train:\n"
                              "  epochs: 0\n"
                              "  optimizer: {lr: -1, nmae: sgd}\n"
                              "data: {batch_size: 10}\n"
                              "devices: {count: 3}\n",
                              {"run.seed=x", "trian.epochs=3"});
  REQUIRE(lines.size() == 9);
  const auto starts = [&](std::size_t i, std::string_view text) {
    return lines[i].starts_with(text);
  };
  CHECK(starts(0, "a.yaml:1:19: metrics.listen: "));
  CHECK(starts(1, "a.yaml:3:11: train.epochs: "));
  CHECK(starts(2, "a.yaml:4:19: train.optimizer.lr: "));
  CHECK(starts(3, "a.yaml:4:23: train.optimizer.nmae: "));
  CHECK(starts(4, "a.yaml:5:20: data.batch_size: 10 samples do not divide"));
  CHECK(starts(5, "a.yaml:6:18: parallel.strategy: strategy single is for one worker"));
  CHECK(starts(6, "a.yaml: data.root: "));
  CHECK(starts(7, "--set run.seed=x: run.seed: \"x\" has the wrong type"));
  CHECK(starts(8, "--set trian.epochs=3: trian: unknown key"));
}

TEST_CASE("a file that is not YAML, not a mapping or two documents is one problem") {
  CHECK(problems("train: {epochs: 3\n") ==
        Lines{"a.yaml:2:1: not YAML: end of map flow not found"});
  CHECK(problems("a: b: c\n") == Lines{"a.yaml:1:5: not YAML: illegal map value"});
  CHECK(problems("- 1\n") ==
        Lines{"a.yaml:1:1: a list has the wrong type; allowed: a mapping with "
              "run, model, data, train, precision, parallel, devices, cluster, "
              "checkpoint, metrics"});
  CHECK(problems(synthetic + "---\n" + synthetic) ==
        Lines{"a.yaml:2:1: a second document, or text after the end of the first"});
  CHECK(problems("{data: {dataset: synthetic}}} # and more\n") ==
        Lines{"a.yaml:1:29: not YAML: illegal flow end"});
  CHECK(problems(synthetic, {"data.augment=[crop]]"}) ==
        Lines{"--set data.augment=[crop]]: data.augment: not YAML: illegal flow end"});
  CHECK(problems(synthetic + "? [a]\n: 1\n").at(0).starts_with("a.yaml:2:3: a key must be a name"));
}

TEST_CASE("a tab in the indentation is reported with its location") {
  const auto tab = [](int line, int column) {
    return Lines{fmt::format("a.yaml:{}:{}: not YAML: a tab in the indentation; YAML allows only "
                             "spaces there",
                             line, column)};
  };
  CHECK(problems("data:\n\tdataset: synthetic\n") == tab(2, 1));
  CHECK(problems("data:\n  root: a\n\tbatch_size: 4\n") == tab(3, 1));
  CHECK(problems("train:\n  optimizer:\n  \tname: sgd\n") == tab(3, 3));
  CHECK(problems("data:\n  augment:\n\t- flip\n") == tab(3, 1));
  CHECK(problems("data: [\t\n").at(0).find("tab") == std::string::npos); // a tab is not the problem
}

TEST_CASE("a merge key is refused, but a quoted one is a name") {
  CHECK(problems(synthetic + "train: &first\n  epochs: 3\nparallel:\n  <<: *first\n") ==
        Lines{"a.yaml:5:3: parallel: merge keys (<<) are not supported: write the keys out in each "
              "mapping"});
  CHECK(problems(synthetic + "\"<<\": 1\n").at(0).find("<<: unknown key") != std::string::npos);
}

TEST_CASE("a problem is one short line") {
  const std::string pasted(500, 'x');
  for (const std::string& text :
       Lines{"run: {name: \"a/\n\n" + pasted + "\"}\n", "model: {name: " + pasted + "}\n",
             "\"a\\nb\": 3\n", std::string{"run: \"\\\x01\"\n"}})
    for (const auto& line : problems(synthetic + text)) {
      CHECK(line.find('\n') == std::string::npos);
      CHECK(line.size() < 400); // although it names all models
    }
}

TEST_CASE("all problems are combined into one error that exits with 2") {
  const auto config = parse_config("a: 1\nb: 2\n", "a.yaml");
  REQUIRE(!config);
  const auto error = to_error(config.error());
  CHECK(error.exit_code() == 2);
  CHECK(std::count(error.message.begin(), error.message.end(), '\n') == 2);
}
