// Tests config.json of Hugging Face folders.
#include "tests/importers/import_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Returns the config.json of the smallest GPT-2, as on the hub, with more keys before its end.
std::string gpt2_json(const std::string& more = {}) {
  return R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"],
"attn_pdrop": 0.1, "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256,
"initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024,
"n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1,
"summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
"summary_type": "cls_index", "summary_use_proj": true,
"task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
"vocab_size": 50257)" +
         more + "}";
}

/// Returns TinyLlama's config.json.
std::string llama_json(const std::string& more = {}) {
  return R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "bos_token_id": 1,
"eos_token_id": 2, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
"intermediate_size": 5632, "max_position_embeddings": 2048, "model_type": "llama",
"num_attention_heads": 32, "num_hidden_layers": 22, "num_key_value_heads": 4, "pretraining_tp": 1,
"rms_norm_eps": 1e-05, "rope_scaling": null, "tie_word_embeddings": false,
"torch_dtype": "float32", "transformers_version": "4.35.0", "use_cache": true,
"vocab_size": 32000)" +
         more + "}";
}

} // namespace

TEST_CASE("GPT-2's config.json determines the model") {
  const auto imported = from_hugging_face(gpt2_json());
  const auto model = config_of(imported).model;
  CHECK(model.name == "gpt2");
  CHECK(model.width == 768);
  CHECK(model.layers == 12);
  CHECK(model.heads == 12);
  CHECK(model.positions == 1024);
  CHECK(model.vocabulary == 50257);
  CHECK(!model.pretrained); // the folder has no weights
  CHECK(said_of(imported, "attn_pdrop") == "not supported: attention weights have no dropout");
  CHECK(said_of(imported, "embd_pdrop") == "mapped to model.dropout: 0.1");
  CHECK(said_of(imported, "resid_pdrop") == "mapped to model.dropout: 0.1");
  CHECK(model.dropout == 0.1);
}

TEST_CASE("LLaMA's config.json determines the model") {
  const auto model = config_of(from_hugging_face(llama_json(R"(, "rope_theta": 500000.0)"))).model;
  CHECK(model.name == "llama-7b");
  CHECK(model.width == 2048);
  CHECK(model.layers == 22);
  CHECK(model.heads == 32);
  CHECK(model.kv_heads == 4);
  CHECK(model.intermediate == 5632);
  CHECK(model.vocabulary == 32000);
  CHECK(model.head == HeadWeight::own);
  CHECK(model.rope_theta == 500000);
  CHECK(model.norm_epsilon == 1e-5);
}

TEST_CASE("the epsilon of norms is that of config.json or the default of transformers") {
  CHECK(config_of(from_hugging_face(gpt2_json())).model.norm_epsilon == 1e-5);
  const auto without = R"({"model_type": "gpt2"})";
  CHECK(config_of(from_hugging_face(without)).model.norm_epsilon == 1e-5);
  const auto said = from_hugging_face(R"({"model_type": "llama", "rms_norm_eps": 1e-4})");
  CHECK(config_of(said).model.norm_epsilon == 1e-4);
  CHECK(said_of(said, "model_type") == "mapped to model.name: llama-7b, model.vocabulary: 32000, "
                                       "model.intermediate: 11008 (the other keys set the size)");
  const auto unsaid = from_hugging_face(R"({"model_type": "llama"})");
  CHECK(config_of(unsaid).model.norm_epsilon == 1e-6);
  CHECK(said_of(unsaid, "model_type") ==
        "mapped to model.name: llama-7b, model.vocabulary: 32000, model.intermediate: 11008, "
        "model.norm_epsilon: 1e-6 (the other keys set the size)");
}

TEST_CASE("missing sizes in config.json have the defaults of transformers") {
  const ScratchFolder folder;
  write_bytes(folder / "config.json", R"({"model_type": "gpt2", "n_embd": 96})");
  write_bytes(folder / "vocab.json", "");
  const auto beside = import_hugging_face(folder.path(), {}, nn::model_catalogue());
  CHECK(config_of(beside).model.vocabulary == 50257); // the tokenizer's files do not change it
  CHECK(said_of(beside, "model_type") ==
        "mapped to model.name: gpt2, model.vocabulary: 50257, model.dropout: 0.1");
  const auto llama = config_of(from_hugging_face(R"({"model_type": "llama", "hidden_size": 64})"));
  CHECK(llama.model.vocabulary == 32000);
  CHECK(llama.model.intermediate == 11008); // for any width
}

TEST_CASE("GPT-2 needs the same dropout for embeddings and blocks") {
  const auto dropping = [](const std::string& keys) {
    return from_hugging_face(R"({"model_type": "gpt2")" + keys + "}");
  };
  const auto both = dropping(R"(, "embd_pdrop": 0.0, "resid_pdrop": 0)");
  CHECK(config_of(both).model.dropout == 0);
  CHECK(config_of(dropping({})).model.dropout == 0.1);
  CHECK(config_of(dropping(R"(, "resid_pdrop": 0.1)")).model.dropout == 0.1);
  const auto apart = problems_of(dropping(R"(, "embd_pdrop": 0.2, "resid_pdrop": 0.3)"));
  REQUIRE(apart.size() == 2);
  CHECK(apart[0].ends_with(
      "embd_pdrop: not supported: resid_pdrop differs, but model.dropout is the rate of both"));
  CHECK(problems_of(dropping(R"(, "embd_pdrop": 0)")).size() == 1); // resid_pdrop is 0.1 by default
  const auto all = problems_of(dropping(R"(, "embd_pdrop": 1, "resid_pdrop": 1)"));
  REQUIRE(all.size() == 2);
  CHECK(
      all[0].ends_with("embd_pdrop: 1 is not allowed; allowed: a number, at least 0 and below 1"));
}

TEST_CASE("weights and a tokenizer in the same folder are used") {
  const ScratchFolder folder;
  write_bytes(folder / "config.json", gpt2_json());
  write_bytes(folder / "model.safetensors", "");
  write_bytes(folder / "vocab.json", "");
  const auto config = config_of(import_hugging_face(folder.path(), {}, nn::model_catalogue()));
  CHECK(config.model.pretrained == folder.path().string());
  CHECK(config.data.tokenizer.path == folder.path().string());
  CHECK(config.data.dataset == "text");
}

TEST_CASE("settings that would compute something else are refused") {
  const auto refusal = [](const std::string& text) {
    const auto problems = problems_of(from_hugging_face(text));
    REQUIRE(problems.size() == 1);
    return problems[0];
  };
  CHECK(refusal(llama_json(R"(, "mlp_bias": true)"))
            .ends_with("mlp_bias: not supported: LLaMA's linear layers have no bias"));
  CHECK(refusal(llama_json(R"(, "rope_parameters": {"rope_type": "yarn"})"))
            .ends_with("rope_parameters.rope_type: not supported: \"yarn\"; troupe has default"));
  CHECK(refusal(gpt2_json(R"(, "scale_attn_weights": false)"))
            .ends_with("scale_attn_weights: not supported: false; troupe has true"));
  CHECK(refusal(R"({"model_type": "llama", "rms_norm_eps": 0})")
            .ends_with("rms_norm_eps: 0 is not allowed; allowed: a number, 1e-12 to 1"));
  CHECK(refusal(R"({"model_type": "mamba"})")
            .ends_with("model_type: \"mamba\" is not allowed; allowed: gpt2, llama"));
  CHECK(refusal(R"({"vocab_size": 10})")
            .ends_with("config.json: model_type: is missing; allowed: gpt2, llama"));
}

TEST_CASE("keys that do not affect the computation have no effect with any value") {
  const auto imported = from_hugging_face(llama_json(
      R"(, "id2label": {"0": "a", "1": "b"}, "_num_labels": 5, "max_sequence_length": 2048,
"is_llama_config": true, "rope_interleaved": false, "_attn_implementation_autoset": true,
"tokenizer_class": "LlamaTokenizer", "unsloth_version": "2024.9", "unsloth_fixed": true,
"auto_map": {"AutoTokenizer": "a--b.C"}, "transformers.js_config": {"dtype": "q4"},
"do_sample": true, "_name_or_path": "x/y", "num_beams": 4)"));
  config_of(imported);
  for (const std::string key :
       {"id2label.0", "id2label.1", "_num_labels", "max_sequence_length", "is_llama_config",
        "tokenizer_class", "unsloth_version", "auto_map.AutoTokenizer",
        "\"transformers.js_config\".dtype", "num_beams", "torch_dtype"}) {
    CAPTURE(key);
    CHECK(said_of(imported, key) == "no effect: does not affect what the weights compute");
  }
  CHECK(std::ranges::count(imported.lines, Fate::unknown, &ImportLine::fate) == 0);
}

TEST_CASE("keys that change the model are refused unless they are off") {
  for (const std::string key : {"sliding_window", "num_local_experts", "logit_scale", "alibi",
                                "partial_rotary_factor", "use_qk_norm"}) {
    CAPTURE(key);
    CHECK(problems_of(from_hugging_face(llama_json(", \"" + key + "\": 2"))).size() == 1);
    CHECK(from_hugging_face(llama_json(", \"" + key + "\": null")).problems.empty());
  }
  CHECK(from_hugging_face(llama_json(R"(, "partial_rotary_factor": 1.0)")).problems.empty());
  const auto quantized = problems_of(from_hugging_face(
      llama_json(R"(, "quantization_config": {"bits": 4, "quant_method": "x"})")));
  REQUIRE(quantized.size() == 2);
  CHECK(quantized[0].ends_with(
      "quantization_config.bits: not supported: weights must be F32, F16, BF16 or F64"));
  CHECK(problems_of(from_hugging_face(llama_json(R"(, "rope_parameters": {"factor": 8})")))
            .at(0)
            .ends_with("rope_parameters.factor: not supported: positions are not scaled"));
  CHECK(problems_of(
            from_hugging_face(llama_json(R"(, "auto_map": {"AutoModelForCausalLM": "m.Mine"})")))
            .size() == 1);
}

TEST_CASE("unknown keys cause a warning with the nearest name") {
  const auto imported =
      from_hugging_face(llama_json(R"(, "brand_new": 1, "nums_hidden_layers": 3, "idle": null)"));
  CHECK(config_of(imported).model.layers == 22);
  CHECK(said_of(imported, "brand_new") == "warning: ignored: unknown key");
  CHECK(said_of(imported, "nums_hidden_layers") ==
        "warning: ignored: unknown key; did you mean \"num_hidden_layers\"?");
  REQUIRE(!imported.hints.empty());
  CHECK(imported.hints.back().starts_with("3 unknown keys are left out: "));
}

TEST_CASE("windows are at most as long as the model's positions") {
  const auto length = [](const std::string& text) {
    return config_of(from_hugging_face(text)).data.sequence_length;
  };
  CHECK(length(R"({"model_type": "gpt2", "n_positions": 128})") == 128);
  CHECK(length(R"({"model_type": "gpt2", "n_positions": 1024})") == DataConfig{}.sequence_length);
  CHECK(length(R"({"model_type": "llama", "max_position_embeddings": 64})") == 64);
  CHECK(length(R"({"model_type": "llama", "max_position_embeddings": 4096})") ==
        DataConfig{}.sequence_length);
  const auto given = from_hugging_face(R"({"model_type": "gpt2", "n_positions": 128})",
                                       {.overrides = {"data.sequence_length=32"}});
  CHECK(config_of(given).data.sequence_length == 32);
}

TEST_CASE("a single tiktoken file in the folder is the tokenizer") {
  const ScratchFolder folder;
  write_bytes(folder / "config.json", gpt2_json());
  write_bytes(folder / "small.tiktoken", "");
  const auto tokenizer = [&] {
    return config_of(import_hugging_face(folder.path(), {}, nn::model_catalogue()))
        .data.tokenizer.path;
  };
  CHECK(tokenizer() == (folder / "small.tiktoken").string());
  write_bytes(folder / "other.tiktoken", "");
  CHECK(tokenizer() == "bytes");
}
