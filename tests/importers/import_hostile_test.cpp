// Tests damaged and malicious files: each is an error with its position, for any content.
#include "tests/importers/import_fixture.hpp"
#include "tests/support/fuzz.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <fmt/format.h>

#include <random>

using namespace troupe;
using namespace troupe::testing;

namespace {

const std::string accelerate_file = R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
downcast_bf16: 'no'
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_offload_params: false
  fsdp_sharding_strategy: FULL_SHARD
machine_rank: 0
mixed_precision: bf16
num_machines: 1
num_processes: 2
use_cpu: true
)";

const std::string deepspeed_file = R"({
  "train_batch_size": 64,
  "fp16": {"enabled": true, "loss_scale": 0, "initial_scale_power": 16},
  "optimizer": {"type": "Adam", "params": {"lr": 0.001, "betas": [0.8, 0.999]}},
  "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}
})";

const std::string hugging_face_file = R"({
  "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32000,
  "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
  "rms_norm_eps": 1e-05, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
  "rope_scaling": null, "tie_word_embeddings": false, "dtype": "float32"
})";

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i)
    all += text;
  return all;
}

/// Checks that the import gives a config, or that each problem is one line that names the file.
void check_said(const Imported& imported, const std::string& file) {
  CHECK(imported.yaml.empty() == !imported.problems.empty());
  for (const auto& line : problems_of(imported)) {
    CAPTURE(line);
    CHECK(line.starts_with(file));
    CHECK(line.find('\n') == std::string::npos);
    CHECK(line.size() < 4000);
  }
}

std::string mutated(std::string text, std::mt19937& random) {
  const auto at = [&] { return random() % text.size(); };
  for (unsigned changes = 1 + random() % 4; changes > 0 && !text.empty(); --changes)
    switch (random() % 5) {
    case 0:
      text[at()] = static_cast<char>(random() % 256);
      break;
    case 1:
      text.erase(at(), 1 + random() % 8);
      break;
    case 2:
      text.insert(at(), 1, "{}[],:\"'&*!#-\n\t 09e"[random() % 19]);
      break;
    case 3:
      text.insert(at(), text.substr(at(), random() % 40));
      break;
    default:
      text.resize(at());
    }
  return text;
}

} // namespace

TEST_CASE("mutated files end in a config or in problems with their locations", "[fuzz]") {
  const auto seed = GENERATE(1u, 2u, 3u, 4u, 5u);
  std::mt19937 random{seed};
  for (unsigned i = 0; i < fuzzed_files() / 5; ++i) {
    const auto yaml = mutated(accelerate_file, random);
    const auto json = mutated(deepspeed_file, random);
    const auto model = mutated(hugging_face_file, random);
    CAPTURE(seed, i, yaml, json, model);
    check_said(from_accelerate(yaml), "a.yaml");
    check_said(from_deepspeed(json), "ds.json");
    check_said(from_hugging_face(model), "config.json");
  }
}

TEST_CASE("truncated files are reported with the location of their end") {
  for (std::size_t length = 0; length <= deepspeed_file.size(); ++length)
    check_said(from_deepspeed(deepspeed_file.substr(0, length)), "ds.json");
  for (std::size_t length = 0; length <= accelerate_file.size(); ++length)
    check_said(from_accelerate(accelerate_file.substr(0, length)), "a.yaml");
  for (std::size_t length = 0; length <= hugging_face_file.size(); ++length)
    check_said(from_hugging_face(hugging_face_file.substr(0, length)), "config.json");
  CHECK(problems_of(from_deepspeed("{\"a\": 1,\n\"b\"")) ==
        Lines{"ds.json:2:4: not JSON or Hjson: a colon is missing after a name"});
}

TEST_CASE("files that are nested too deeply are refused at the level of the limit") {
  const auto deep = repeated("{\"a\":", 100000);
  CHECK(problems_of(from_deepspeed(deep)) == Lines{"ds.json:1:157: nested deeper than 32 levels"});
  CHECK(problems_of(from_deepspeed("{\"a\":" + repeated("[", 100000))) ==
        Lines{"ds.json:1:2: nested deeper than 32 levels"});
  CHECK(from_accelerate("a: " + repeated("[", 100000)).problems.size() == 1);
  CHECK(from_accelerate(repeated("{a: ", 40) + repeated("}", 40)).problems.size() == 1);
}

TEST_CASE("aliases that expand exponentially are followed up to a limit") {
  std::string bomb = "a0: &a0 {x: 1, y: 2}\n";
  for (int i = 1; i < 40; ++i)
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " {x: *a" +
            std::to_string(i - 1) + ", y: *a" + std::to_string(i - 1) + "}\n";
  const auto lines = problems_of(from_accelerate(bomb));
  REQUIRE(lines.size() == 1);
  CHECK((lines[0].find("more than 10000 values") != std::string::npos ||
         lines[0].find("nested deeper") != std::string::npos));
}

TEST_CASE("files that are not a mapping, repeat a key or are too large are refused") {
  for (const std::string text : {"", "null", "3", "\"a\"", "[1, 2]", "[{}]"}) {
    CAPTURE(text);
    CHECK(from_deepspeed(text).problems.size() == 1);
    CHECK(!from_accelerate(text).problems.empty());
  }
  CHECK(problems_of(from_deepspeed("{\"bf16\": {},\n \"bf16\": {}}")) ==
        Lines{"ds.json:2:2: bf16: given twice, first in line 1"});
  CHECK(problems_of(from_accelerate("use_cpu: true\nuse_cpu: false\n")) ==
        Lines{"a.yaml:2:1: use_cpu: given twice, first in line 1"});
  CHECK(problems_of(from_deepspeed(std::string(2u << 20, ' '))) ==
        Lines{"ds.json: longer than 1 MiB, so not a config file"});
  std::string many = "{\"b\": [0";
  many += repeated(",0", 20000) + "]}";
  CHECK(from_deepspeed(many).problems.size() == 1);
}

TEST_CASE("a name with a dot is not a path, and control characters are escaped") {
  CHECK(problems_of(from_deepspeed(R"({"zero_optimization.stage": 3})")) ==
        Lines{"ds.json:1:2: \"zero_optimization.stage\": not supported: unknown key; did you mean "
              "\"zero_optimization\"?"});
  const auto imported = from_deepspeed("{\"\\u001b[31m\\n\": 1}", {.allow_unsupported = true});
  REQUIRE(imported.lines.size() == 1);
  CHECK(imported.lines[0].to_string().find('\x1b') == std::string::npos);
  const auto address = from_accelerate("distributed_type: MULTI_GPU\nnum_processes: 2\n"
                                       "num_machines: 2\nmain_process_ip: \"a\\\", b: [\"\n");
  CHECK(address.problems.size() == 1);
}

TEST_CASE("invalid numbers are reported") {
  for (const std::string value : {"1e999", "-1", "1e18", "\"x\"", "[]", "{\"a\": 1}", "true"}) {
    const auto imported = from_deepspeed(fmt::format(
        R"({{"train_batch_size": {0}, "gradient_accumulation_steps": {0},
             "fp16": {{"enabled": true, "initial_scale_power": {0}}}}})",
        value));
    CAPTURE(value);
    CHECK(imported.problems.size() == 3);
  }
}

TEST_CASE("a changed byte anywhere in config.json is handled") {
  for (std::size_t at = 0; at < hugging_face_file.size(); ++at)
    for (const unsigned bits : {0x01u, 0x80u}) {
      auto flipped = hugging_face_file;
      flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ bits);
      CAPTURE(at, bits);
      check_said(from_hugging_face(flipped), "config.json");
    }
}

TEST_CASE("sizes outside of every model's range are reported") {
  const auto refusal = [](const std::string& key, const std::string& value) {
    const auto imported =
        from_hugging_face(fmt::format(R"({{"model_type": "gpt2", "{}": {}}})", key, value));
    CAPTURE(key, value);
    REQUIRE(imported.problems.size() == 1);
    CHECK(imported.yaml.empty());
    return problems_of(imported)[0];
  };
  for (const std::string key :
       {"n_embd", "n_layer", "n_head", "n_positions", "n_inner", "vocab_size"})
    for (const std::string value : {"-1", "0", "0.5", "-9223372036854775808", "1e18",
                                    "9223372036854775807", "99999999999999999999999", "\"many\"",
                                    "[768]", "{\"a\": 1}", "true", "NaN", "Infinity", "1e999"})
      CHECK(refusal(key, value).starts_with("config.json"));
  CHECK(refusal("n_embd", "-768") == "config.json:1:24: n_embd: -768 is not allowed; allowed: a "
                                     "whole number, at least 1");
  CHECK(refusal("n_layer", "1000000000") ==
        "config.json:1:24: n_layer: model.layers: 1000000000 is out of range; allowed: a whole "
        "number, 1 to 1000, or null");
  CHECK(refusal("n_layer", R"("many")") == "config.json:1:24: n_layer: \"many\" is not allowed; "
                                           "allowed: a whole number, at least 1");
  CHECK(refusal("n_layer", "NaN") == "config.json:1:35: not JSON: unexpected \"n_layer\": N");
  CHECK(refusal("layer_norm_epsilon", "1e999") ==
        "config.json:1:51: 1e999: the number is too large");
  CHECK(refusal("n_embd", repeated("[", 1000)) == "config.json:1:24: nested deeper than 32 levels");
}
