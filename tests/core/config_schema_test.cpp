#include "core/config/detail/reader.hpp"
#include "core/config/detail/value.hpp"
#include "core/config/schema.hpp"
#include "tests/core/config_fixture.hpp"
#include "tests/core/json_schema.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <set>

using namespace troupe;
using namespace troupe::testing;
namespace fs = std::filesystem;

namespace {

const fs::path source = source_tree();
const auto models = nn::model_catalogue();

Json schema() {
  return Json::parse(config_json_schema(models));
}

std::vector<fs::path> config_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator{source / "configs"})
    if (entry.path().extension() == ".yaml")
      files.push_back(entry.path());
  return files;
}

constexpr auto member_of = [](const auto& target) -> const void* {
  using Target = std::decay_t<decltype(target)>;
  if constexpr (std::is_same_v<Target, ChoiceTarget>)
    return target.number;
  else if constexpr (std::is_same_v<Target, FormsTarget>)
    return target.member;
  else
    return target;
};

/// Returns the keys that are documented.
std::vector<ConfigKey> shown_keys(Config& config) {
  auto keys = config_keys(config, models);
  std::erase_if(keys, [](const ConfigKey& key) { return key.hidden; });
  return keys;
}

} // namespace

TEST_CASE("every key has its own member and help") {
  Config config;
  std::set<const void*> members;
  std::set<std::string> paths;
  for (const auto& key : config_keys(config, models)) {
    members.insert(std::visit(member_of, key.target));
    paths.insert(key.path);
    CHECK(!key.help.empty());
  }
  CHECK(members.size() == config_keys(config, models).size());
  CHECK(paths.size() == members.size());
}

TEST_CASE("the schema is valid JSON of draft 2020-12 with help and default for every key") {
  const auto root = schema();
  CHECK(root["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  auto defaults = default_config(models);
  for (const auto& key : shown_keys(defaults)) {
    INFO(key.path);
    const auto found = schema_of(root, key.path);
    REQUIRE(found.is_object());
    CHECK(found["description"] == key.help);
    REQUIRE(found.contains("default"));
    CHECK(accepts(found, found["default"]));
    // The default, written as YAML, equals the value in the struct.
    CHECK(to_json(YAML::Load(config_value_text(key))) == found["default"]);
  }
}

TEST_CASE("the schema refuses keys that it does not describe") {
  const auto root = schema();
  CHECK(accepts(root, to_json(YAML::Load("run: {name: a}\ntrain:\n"))));
  CHECK(!accepts(root, to_json(YAML::Load("run: {nmae: a}"))));
  CHECK(!accepts(root, to_json(YAML::Load("runs: {}"))));
  CHECK(!accepts(root, to_json(YAML::Load("run: 3"))));
  CHECK(accepts(root, to_json(YAML::Load("parallel: {offload: optimizer}"))));
  CHECK(!accepts(root, to_json(YAML::Load("parallel: {offload: disk}"))));
  CHECK(!accepts(root, to_json(YAML::Load("parallel: {buddies: auto}")))); // an old key
  CHECK(!accepts(root, to_json(YAML::Load("devices: {fusion: full}"))));   // a hidden key
}

TEST_CASE("reader and schema agree for every key and many values") {
  const auto root = schema();
  Config config;
  ConfigReader reader{config, config_keys(config, models)};
  for (const auto& key : shown_keys(config)) {
    const auto key_schema = schema_of(root, key.path);
    for (const auto* text : {"0",
                             "1",
                             "-1",
                             "+2",
                             "3",
                             "4",
                             "5000000",
                             "0.5",
                             "1e-3",
                             "1e3x",
                             ".inf",
                             "true",
                             "True",
                             "yes",
                             "null",
                             "~",
                             "\"\"",
                             "\"1\"",
                             "'off'",
                             "off",
                             "sgd",
                             "adamw",
                             "resnet50",
                             "ddp",
                             "auto",
                             "a/b",
                             "a b",
                             "[]",
                             "[1]",
                             "[1, 2]",
                             "[0]",
                             "[crop]",
                             "[crop, flip]",
                             "[x]",
                             "[null]",
                             "[[1]]",
                             "{}",
                             "{a: 1}",
                             "{a: 1, b: 0.5}",
                             "{a: -1}",
                             "{a: x}",
                             "block",
                             "none",
                             "{fit: 6GiB}",
                             "{fit: 0}",
                             "{fit: 6 horses}",
                             "{fit: 1, a: 1}",
                             "{optimizer: 0.5}",
                             "{parameters: 2}",
                             "{parameters: bf16}",
                             "{min_num_params: 5}",
                             "{initial: 1024}",
                             "{mean: [0.5], std: [0.5]}",
                             "{every: 5 steps, tokens: 7}",
                             "{path: a/b, split: gpt2}",
                             "{size: 64, eval_resize: 72}",
                             "{train: 64, eval: 0}",
                             "{features: [a], delimiter: tab}",
                             "{value: 0.5, nesterov: true}",
                             "{rate: 0.1, parameters: none}",
                             "{norm: 1, value: 0.5}",
                             "{type: int8, error_feedback: false}",
                             "{groups: 2, grace: 5s}",
                             "{address: 'a:1', advertise: null, data_port: 5}",
                             "{min: 2, max: 3}",
                             "[0.5, 0.9]",
                             "[a, b]",
                             "on",
                             "10MiB",
                             "10 MiB",
                             "\"2048\"",
                             "1.5GiB",
                             "5s",
                             "0.5min",
                             "5",
                             "5 s",
                             "never",
                             "1 step",
                             "20 epochs",
                             "0 steps",
                             "1 Epoch",
                             "200 steps",
                             "1.5 epochs",
                             "2e6 tokens",
                             "2%",
                             "101%",
                             "[1, 50%]",
                             "127.0.0.1:80",
                             "[::1]",
                             "'[::1]:80'",
                             "host:",
                             "host:1",
                             ":1",
                             "1:2:3"}) {
      YAML::Node node;
      try {
        node = YAML::Load(text);
      } catch (const YAML::Exception&) {
        continue;
      }
      INFO(key.path << ": " << text);
      config = {}; // no earlier value is left in another field of the key
      const auto is_read = [&] {
        if (!node.IsMap()) // null may also stand for a section of old keys
          return assign_value(node, key).empty();
        reader.read_given(key.path, text, "");
        return reader.take_problems().empty();
      };
      CHECK(is_read() == accepts(key_schema, to_json(node)));
    }
  }
}

TEST_CASE("a printed config loads to the same config") {
  const auto path = source / "tests/golden/config.yaml";
  const auto text = read_bytes(path);
  const auto config = parse_config(text, path.string(), {}, Capabilities::all(), models);
  if (!config)
    FAIL(to_error(config.error()).message);
  CHECK(printed(*config) == text); // the golden file has the printed form
  CHECK(good(printed(*config)) == *config);

  auto defaults = default_config(models), copy = *config;
  const auto keys = config_keys(copy, models), default_keys = config_keys(defaults, models);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    INFO(keys[i].path);
    // Every key of the golden file differs from its default, so that no lost key goes unnoticed.
    // Exceptions: keys that other values of the file exclude, and keys with a single choice.
    constexpr std::array excluded = {
        "train.label_smoothing", "train.max_tokens", "train.sample",          "model.bias",
        "model.dropout",         "data.balance",     "data.replay_assignment"};
    if (std::ranges::count(excluded, keys[i].path) == 0 && choices_of(keys[i]).size() != 1)
      CHECK(config_value_text(keys[i]) != config_value_text(default_keys[i]));
  }
}

TEST_CASE("texts that YAML would read as another type are quoted") {
  for (const auto* text :
       {"",     " a",   "null",     "true", "12", "1e3", "a: b", "a #b", "\"",   "\\",
        "'",    "- x",  "*x",       "&x",   "!x", "%x",  "@x",   "[a]",  "{a}",  "a\nb",
        "a\tb", "\x01", "\xc3\xa4", "no",   "~",  "-",   "?",    "0x10", ".inf", "2024-01-01"}) {
    Config config = good(synthetic);
    config.run.output = text;
    config.model.pretrained = text;
    INFO(text);
    CHECK(good(printed(config)) == config);
  }
}

TEST_CASE("every file in configs/ is valid, fits the schema and prints to the same config") {
  const auto root = schema();
  const auto files = config_files();
  CHECK(files.size() >= 15);
  for (const auto& file : files) {
    INFO(file.string());
    const auto config = load_config(file, {}, Capabilities::all(), models);
    if (!config)
      FAIL_CHECK(to_error(config.error()).message);
    else
      CHECK(good(printed(*config)) == *config);
    CHECK(accepts(root, to_json(YAML::LoadFile(file.string()))));
    const bool below = file.parent_path() != source / "configs";
    CHECK(read_bytes(file).starts_with(below ? "# yaml-language-server: $schema=../schema.json\n"
                                             : "# yaml-language-server: $schema=schema.json\n"));
  }
}

TEST_CASE("configs/schema.json and docs/config.md are up to date") {
  // `troupe config schema [--format markdown]` writes these files.
  CHECK(read_bytes(source / "configs/schema.json") == config_json_schema(models));
  CHECK(read_bytes(source / "docs/config.md") == config_markdown(models));
}
