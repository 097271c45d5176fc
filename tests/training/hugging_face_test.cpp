// Tests model.pretrained with a Hugging Face folder.
#include "tests/training/hugging_face_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

HuggingFaceFolder gpt2_folder() {
  return HuggingFaceFolder{small_language_config("gpt2-mini")};
}

HuggingFaceFolder llama_folder() {
  return HuggingFaceFolder{small_language_config("llama-mini")};
}

} // namespace

TEST_CASE("GPT-2's weights are transposed, and every tensor gets its value") {
  const auto made = gpt2_folder();
  made.write();
  made.check_values();
  const auto opened = made.open();
  const auto weight = tensor_values(opened->state, "transformer.h.1.attn.c_attn.weight"); // (24, 8)
  const auto there =
      std::ranges::find(made.tensors, "transformer.h.1.attn.c_attn.weight", &SafetensorsView::name);
  CHECK(there->shape == Shape{8, 24});
  const auto* const stored = reinterpret_cast<const float*>(there->bytes.data());
  CHECK(weight[5 * 8 + 3] == stored[3 * 24 + 5]);
}

TEST_CASE("LLaMA's tensors are read unchanged, with a separate head") {
  const auto made = llama_folder();
  made.write();
  made.check_values();
}

TEST_CASE("parts of a transposed weight match the whole") {
  const auto made = gpt2_folder();
  made.write();
  const auto state = made.open()->state;
  const std::string name = "transformer.h.0.mlp.c_fc.weight"; // (12, 8)
  const auto whole = tensor_values(state, name);
  for (std::size_t first = 0; first < whole.size(); first += 5)
    for (std::size_t count = 0; first + count <= whole.size(); count += 7) {
      std::vector<float> part(count);
      REQUIRE(state->read(*state->find(name), first, part));
      CHECK(std::ranges::equal(part, std::span{whole}.subspan(first, count)));
    }
}

TEST_CASE("files of a bare GPT-2 model are read, with the masks of old files") {
  auto made = gpt2_folder();
  for (auto& tensor : made.tensors)
    tensor.name = tensor.name.substr(std::string_view{"transformer."}.size());
  made.add("h.0.attn.bias", {1, 1, 6, 6}, std::vector<float>(36, 1));
  made.add("h.1.attn.masked_bias", {}, {-1e4f});
  made.write();
  made.check_values();
}

TEST_CASE("16-bit types become fp32") {
  const std::string dtype = GENERATE("F16", "BF16");
  for (const auto* const name : {"gpt2-mini", "llama-mini"}) {
    HuggingFaceFolder made{small_language_config(name)};
    made.narrow(dtype);
    made.write();
    made.check_values();
  }
}

TEST_CASE("several files with an index are one model") {
  for (const auto* const name : {"gpt2-mini", "llama-mini"}) {
    const HuggingFaceFolder made{small_language_config(name)};
    made.write_shards();
    made.check_values();
  }
}

TEST_CASE("a tied head may be in the file if it equals the embedding") {
  auto made = gpt2_folder();
  const auto table = made.tensor("transformer.wte.weight");
  made.add("lm_head.weight", table.shape, made.values[0].values);
  REQUIRE(made.values[0].name == "transformer.wte.weight");
  made.write();
  made.check_values();
  made.remove("lm_head.weight");
  auto other = made.values[0].values;
  other.back() += 1;
  made.add("lm_head.weight", table.shape, other);
  made.write();
  CHECK_THAT(made.refusal(),
             ContainsSubstring("lm_head.weight differs from transformer.wte.weight: the head is "
                               "not tied; set model.head to own"));
}

TEST_CASE("each key of config.json that means another model is named with both values") {
  auto made = gpt2_folder();
  SECTION("all of them at once") {
    made.json["n_layer"] = 12;
    made.json["activation_function"] = "relu";
    made.json.erase("n_head");
    made.json["tie_word_embeddings"] = false;
    made.json["model_type"] = nullptr;
    made.write();
    const auto message = made.refusal();
    CHECK_THAT(message,
               ContainsSubstring(
                   "config.json does not describe this gpt2-mini:\n  model_type: not in the file; "
                   "\"gpt2\" here (model.name)\n  n_layer: 12 in the file, 2 here (model.layers)\n "
                   " n_head: not in the file, which means 12; 2 here (model.heads)\n  "
                   "activation_function: \"relu\" in the file, \"gelu_new\" here\n  "
                   "tie_word_embeddings: false in the file, true here (model.head)"));
    CHECK(std::ranges::count(message, '\n') == 5);
  }
  SECTION("text instead of a number") {
    made.json["n_embd"] = "8";
    made.write();
    CHECK_THAT(made.refusal(), ContainsSubstring("n_embd: \"8\" in the file, 8 here"));
  }
  SECTION("a key with the default value may be missing") {
    for (const auto* const key : {"activation_function", "layer_norm_epsilon"})
      made.json.erase(key);
    made.write();
    made.check_values();
  }
}

TEST_CASE("LLaMA's positions are read from the keys of version 4 or 5") {
  auto made = llama_folder();
  made.json.erase("rope_parameters");
  made.json["rope_theta"] = 10000;
  made.json["rope_scaling"] = nullptr;
  made.write();
  made.check_values();
  made.json["rope_scaling"] = {{"rope_type", "llama3"}, {"factor", 8.0}};
  made.json["rope_theta"] = 500000.0;
  made.json["rms_norm_eps"] = 1e-6;
  made.write();
  const auto message = made.refusal();
  CHECK_THAT(message, ContainsSubstring("rope_theta: 500000.0 in the file, 10000.0 here "
                                        "(model.rope_theta)"));
  CHECK_THAT(message, ContainsSubstring("rope_scaling.rope_type: \"llama3\" in the file, "
                                        "\"default\" here"));
  CHECK_THAT(message, ContainsSubstring("rms_norm_eps: 1e-06 in the file, 1e-05 here "
                                        "(model.norm_epsilon)"));
}

TEST_CASE("the norm epsilon of the file and the config must match") {
  for (const auto* const name : {"gpt2-mini", "llama-mini"}) {
    HuggingFaceFolder made{small_language_config(name)};
    made.config.model.norm_epsilon = 1e-6;
    made.write();
    CHECK_THAT(made.refusal(), ContainsSubstring("1e-05 in the file, 1e-06 here "
                                                 "(model.norm_epsilon)"));
    made.json[made.json.contains("rms_norm_eps") ? "rms_norm_eps" : "layer_norm_epsilon"] = 1e-6;
    made.write();
    made.check_values();
  }
}

TEST_CASE("a missing norm epsilon in LLaMA's file is 1e-6") {
  auto made = llama_folder();
  made.json.erase("rms_norm_eps");
  made.write();
  CHECK_THAT(made.refusal(), ContainsSubstring("rms_norm_eps: not in the file, which means 1e-06; "
                                               "1e-05 here (model.norm_epsilon)"));
  made.config.model.norm_epsilon = 1e-6;
  made.check_values();
}

TEST_CASE("weights must not be missing, unknown or of another shape or type") {
  auto made = gpt2_folder();
  SECTION("missing") {
    made.remove("transformer.h.1.ln_2.bias");
    made.write();
    CHECK_THAT(made.refusal(), ContainsSubstring("transformer.h.1.ln_2.bias: not in the file, "
                                                 "expected 8"));
  }
  SECTION("the first and the last unit") {
    made.remove("transformer.wpe.weight");
    made.remove("transformer.ln_f.bias");
    made.write();
    const auto message = made.refusal();
    CHECK_THAT(message, ContainsSubstring("transformer.wpe.weight: not in the file"));
    CHECK_THAT(message, ContainsSubstring("transformer.ln_f.bias: not in the file"));
  }
  SECTION("unknown") {
    made.add("transformer.h.2.ln_1.weight", {8}, std::vector<float>(8));
    made.write();
    CHECK_THAT(made.refusal(),
               ContainsSubstring("transformer.h.2.ln_1.weight: 8 in the file, not in gpt2-mini"));
  }
  SECTION("another shape") {
    made.tensor("transformer.wpe.weight").shape = {8, 6};
    made.write();
    CHECK_THAT(made.refusal(),
               ContainsSubstring("transformer.wpe.weight: 8x6 in the file, expected 6x8"));
  }
  SECTION("a weight that is not transposed") {
    made.tensor("transformer.h.0.mlp.c_fc.weight").shape = {12, 8};
    made.write();
    CHECK_THAT(made.refusal(),
               ContainsSubstring("transformer.h.0.mlp.c_fc.weight: 12x8 in the file, expected "
                                 "8x12 (in, out)"));
  }
  SECTION("another type") {
    made.tensor("transformer.ln_f.weight").dtype = "I32";
    made.write();
    CHECK_THAT(made.refusal(), ContainsSubstring("transformer.ln_f.weight: I32 in the file, "
                                                 "expected F32, F16, BF16 or F64"));
  }
}

TEST_CASE("a model that Hugging Face does not have refuses such a folder") {
  const auto made = gpt2_folder();
  made.write();
  Config config;
  config.model.name = "resnet20";
  config.model.pretrained = made.folder.path().string();
  const auto opened = training::open_pretrained(config);
  REQUIRE_FALSE(opened);
  CHECK_THAT(opened.error().message,
             ContainsSubstring(
                 "and resnet20 cannot load weights from one; models that can: gpt2-mini, gpt2"));
}
