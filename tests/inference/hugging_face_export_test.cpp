// Tests export to transformers' format, and that reading it back gives the same bits.
#include "inference/exports/exports.hpp"
#include "tests/inference/saved_language_model.hpp"
#include "tests/support/tokenizer_files.hpp"
#include "tests/training/hugging_face_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

nlohmann::json read_json_file(const std::filesystem::path& path) {
  return nlohmann::json::parse(read_bytes(path));
}

void check_round_trip(const inference::SavedModel& model, const std::filesystem::path& folder) {
  const auto written = inference::export_hugging_face(model, {.output = folder});
  INFO((written ? "" : written.error().to_string()));
  REQUIRE(written);
  auto config = model.config;
  config.model.pretrained = folder.string();
  const auto opened = training::open_pretrained(config);
  INFO((opened ? "" : opened.error().to_string()));
  REQUIRE(opened);
  for (const auto& [name, shape] : model.weights->header().tensors) {
    CAPTURE(name);
    CHECK(tensor_values(opened->state, name) == tensor_values(model.weights, name));
  }
}

} // namespace

TEST_CASE("an exported model is read back with the same bits") {
  const ScratchFolder folder;
  const auto head = GENERATE(HeadWeight::usual, HeadWeight::tied, HeadWeight::own);
  for (const auto* const name : {"gpt2-mini", "llama-mini"}) {
    auto config = small_language_config(name);
    config.model.head = head;
    CAPTURE(name, to_string(head));
    check_round_trip(saved_language_model(config), folder / name);
  }
}

TEST_CASE("exporting a language model as ONNX is refused, and the error names the other formats") {
  const ScratchFolder folder;
  for (const auto* const name : {"gpt2-mini", "llama-mini"}) {
    const auto written = inference::export_onnx(saved_language_model(small_language_config(name)),
                                                {.output = folder / "model.onnx"});
    REQUIRE_FALSE(written);
    CHECK(written.error().exit_code() == 2);
    CHECK_THAT(written.error().message, ContainsSubstring("use --format huggingface or"));
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

TEST_CASE("a GPT-2 folder has the keys, names and shapes of transformers") {
  const ScratchFolder folder;
  const auto model = saved_language_model(small_language_config("gpt2-mini"));
  const auto written = inference::export_hugging_face(model, {.output = folder / "out"});
  REQUIRE(written);
  CHECK(written->size() == 3);
  CHECK(read_json_file(folder / "out/config.json") ==
        nlohmann::json{{"architectures", {"GPT2LMHeadModel"}},
                       {"model_type", "gpt2"},
                       {"vocab_size", 257},
                       {"n_positions", 6},
                       {"n_embd", 8},
                       {"n_layer", 2},
                       {"n_head", 2},
                       {"n_inner", 12},
                       {"activation_function", "gelu_new"},
                       {"layer_norm_epsilon", 1e-5},
                       {"tie_word_embeddings", true},
                       {"scale_attn_weights", true},
                       {"scale_attn_by_inverse_layer_idx", false},
                       {"attn_pdrop", 0.0},
                       {"embd_pdrop", 0.0},
                       {"resid_pdrop", 0.0},
                       {"initializer_range", 0.02},
                       {"bos_token_id", 256},
                       {"eos_token_id", 256},
                       {"torch_dtype", "float32"}});
  CHECK(read_json_file(folder / "out/generation_config.json") ==
        nlohmann::json{{"bos_token_id", 256}, {"eos_token_id", 256}});
  const auto reader = SafetensorsReader::open(folder / "out/model.safetensors");
  REQUIRE(reader);
  CHECK(reader->metadata() == std::map<std::string, std::string>{{"format", "pt"}});
  CHECK(reader->entries().size() == 2 + 2 * 12 + 2); // no lm_head.weight
  for (const auto& entry : reader->entries())
    if (entry.name == "transformer.h.1.attn.c_attn.weight")
      CHECK(entry.shape == Shape{8, 24});
}

TEST_CASE("a LLaMA folder describes its rotary positions and its heads") {
  const ScratchFolder folder;
  auto config = small_language_config("llama-mini");
  config.model.rope_theta = 500000;
  config.model.norm_epsilon = 1e-6;
  REQUIRE(inference::export_hugging_face(saved_language_model(config),
                                         {.output = folder / "out", .dtype = DType::bf16}));
  const auto json = read_json_file(folder / "out/config.json");
  CHECK(json.at("architectures") == nlohmann::json::array({"LlamaForCausalLM"}));
  CHECK(json.at("rope_theta") == 500000.0);
  CHECK(json.at("rms_norm_eps") == 1e-6);
  CHECK(json.at("num_key_value_heads") == 1);
  CHECK(json.at("head_dim") == 4);
  CHECK(json.at("max_position_embeddings") == 4);
  CHECK(json.at("tie_word_embeddings") == false);
  CHECK(json.at("torch_dtype") == "bfloat16");
  CHECK(!json.contains("rope_parameters.rope_type"));
}

TEST_CASE("the tokenizer is exported with the model, under the names of transformers") {
  const testing::TokenizerFiles files;
  const ScratchFolder folder;
  auto config = small_language_config("gpt2-mini");
  config.model.vocabulary = 300;
  SECTION("OpenAI's files") {
    config.data.tokenizer.path = files.write_json("encoder.json", testing::small_vocabulary());
    files.write("vocab.bpe", "#version: 0.2\na b\nab c\n");
    REQUIRE(
        inference::export_hugging_face(saved_language_model(config), {.output = folder / "out"}));
    CHECK(read_bytes(folder / "out/vocab.json") == read_bytes(files.folder() / "encoder.json"));
    CHECK(read_bytes(folder / "out/merges.txt") == read_bytes(files.folder() / "vocab.bpe"));
  }
  SECTION("Hugging Face's") {
    files.write_json("tokenizer.json", testing::small_tokenizer());
    files.write("tokenizer_config.json", "{}");
    files.write("another.txt", "not copied");
    config.data.tokenizer.path = files.folder().string();
    REQUIRE(
        inference::export_hugging_face(saved_language_model(config), {.output = folder / "out"}));
    CHECK(read_bytes(folder / "out/tokenizer.json") ==
          read_bytes(files.folder() / "tokenizer.json"));
    CHECK(read_bytes(folder / "out/tokenizer_config.json") == "{}");
    CHECK(!std::filesystem::exists(folder / "out/another.txt"));
  }
  CHECK(read_json_file(folder / "out/config.json").at("eos_token_id") == 258);
}

TEST_CASE("a tokenizer of any kind is the same after it is read from the exported folder") {
  const testing::TokenizerFiles files;
  const ScratchFolder folder;
  auto config = small_language_config("gpt2-mini");
  config.model.vocabulary = 300;
  auto other = testing::small_vocabulary(); // an unrelated vocabulary in the same folder
  other["other"] = 259;
  std::string read_as = folder / "out";
  SECTION("a vocabulary next to another one") {
    files.write_json("vocab.json", other);
    files.write_json("tokenizer.json", {{"model", other}});
    config.data.tokenizer.path = files.write_json("encoder.json", testing::small_vocabulary());
    files.write("merges.txt", "a b\nab c\n");
  }
  SECTION("a tokenizer.json with another name") {
    files.write_json("tokenizer.json", {{"model", other}});
    config.data.tokenizer.path = files.write_json("mine.json", testing::small_tokenizer());
  }
  SECTION("tiktoken's") {
    config.data.tokenizer.path = files.write("mine.tiktoken", testing::small_ranks());
    config.data.tokenizer.split = TokenizerSplit::gpt2;
    read_as += "/mine.tiktoken";
  }
  SECTION("bytes") {
    read_as = config.data.tokenizer.path;
  }
  REQUIRE(inference::export_hugging_face(saved_language_model(config), {.output = folder / "out"}));
  const auto& split = config.data.tokenizer.split;
  const auto read = data::open_tokenizer(read_as, split);
  REQUIRE(read);
  const auto whole = data::open_tokenizer(config.data.tokenizer.path, split).value();
  CHECK((*read)->fingerprint() == whole->fingerprint());
  CHECK(read_json_file(folder / "out/config.json").at("eos_token_id") == whole->end_of_document());
}

TEST_CASE("existing files are not overwritten, and a failed export leaves nothing") {
  const ScratchFolder folder;
  auto config = small_language_config("gpt2-mini");
  const auto refusal = [&](const inference::SavedModel& model) {
    const auto written = inference::export_hugging_face(model, {.output = folder / "out"});
    REQUIRE_FALSE(written);
    CHECK(written.error().exit_code() == 2);
    return written.error().message;
  };
  std::filesystem::create_directories(folder / "out");
  write_bytes(folder / "out/mine", "1");
  CHECK_THAT(refusal(saved_language_model(config)), ContainsSubstring("already exists"));
  CHECK(read_bytes(folder / "out/mine") == "1");
  std::filesystem::remove(folder / "out/mine");
  REQUIRE(inference::export_hugging_face(saved_language_model(config), {.output = folder / "out"}));

  std::filesystem::remove_all(folder / "out");
  config.data.tokenizer.path = (folder / "nothing").string();
  config.model.vocabulary = 257;
  CHECK_THAT(refusal(saved_language_model(config)), ContainsSubstring("data.tokenizer: "));
  Config images;
  images.model.name = "resnet20";
  CHECK_THAT(refusal({"x", images, {}, nullptr}),
             ContainsSubstring("resnet20 has no Hugging Face equivalent"));
  CHECK(std::filesystem::is_empty(folder.path()));
}
