/// Folders in the format of transformers, written by hand from the graph's names.
#pragma once

#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/state_source.hpp"
#include "core/config/config.hpp"
#include "core/float16.hpp"
#include "nn/models/models.hpp"
#include "tests/support/initial_values.hpp"
#include "tests/support/safetensors_file.hpp"
#include "tests/support/scratch_folder.hpp"
#include "training/pretrained/pretrained.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace troupe::testing {

/// Config of a language model with two narrow blocks over bytes.
inline Config small_language_config(const std::string& name) {
  Config config;
  config.model.name = name;
  config.model.width = 8;
  config.model.layers = 2;
  config.model.heads = 2;
  config.model.intermediate = 12;
  if (name.starts_with("gpt2"))
    config.model.positions = 6;
  else
    config.model.kv_heads = 1;
  config.data.dataset = "text";
  config.data.root = "text";
  config.data.sequence_length = 4;
  return config;
}

/// Returns values that fp16 and bf16 represent exactly, with a different sequence in each tensor.
inline std::vector<nn::InitialTensor> known_values(const Config& config) {
  const auto graph =
      nn::build_model(config.model, {.input = nn::input_spec(config), .training = false});
  INFO((graph ? "" : graph.error().to_string()));
  REQUIRE(graph);
  auto tensors = nn::initial_values(*graph, 1);
  REQUIRE(tensors);
  std::size_t number = 0;
  for (auto& tensor : *tensors)
    for (auto& value : tensor.values)
      value = static_cast<float>((number++ * 37) % 251) * 0.5f - 60.0f;
  return *std::move(tensors);
}

/// Transposes (rows, columns) to (columns, rows).
inline std::vector<float> turned(const std::vector<float>& values, const Shape& shape) {
  const auto rows = static_cast<std::size_t>(shape[0]),
             columns = static_cast<std::size_t>(shape[1]);
  std::vector<float> result;
  for (std::size_t column = 0; column < columns; ++column)
    for (std::size_t row = 0; row < rows; ++row)
      result.push_back(values[row * columns + column]);
  return result;
}

inline std::vector<float> tensor_values(const StateSourcePtr& state, const std::string& name) {
  const auto number = state->find(name);
  INFO(name);
  REQUIRE(number);
  std::vector<float> values(
      static_cast<std::size_t>(state->header().tensors[*number].shape.elements()));
  REQUIRE(state->read(*number, 0, values));
  return values;
}

class HuggingFaceFolder {
public:
  explicit HuggingFaceFolder(Config made_for) : config{std::move(made_for)} {
    config.model.pretrained = folder.path().string();
    values = known_values(config);
    for (const auto& [name, shape, numbers] : values)
      if (is_conv1d(name))
        add(name, Shape{shape[1], shape[0]}, turned(numbers, shape));
      else
        add(name, shape, numbers);
    json = config.model.name.starts_with("gpt2") ? gpt2_json() : llama_json();
  }

  /// Whether a tensor is one of GPT-2's matrices, which the original code declares as convolutions
  /// of width 1.
  static bool is_conv1d(const std::string& name) {
    return name.ends_with("c_attn.weight") || name.ends_with("c_proj.weight") ||
           name.ends_with("c_fc.weight");
  }

  void add(const std::string& name, const Shape& shape, const std::vector<float>& numbers) {
    tensors.push_back({name, "F32", shape, bytes_of(numbers)});
  }
  SafetensorsView& tensor(std::string_view name) {
    return *std::ranges::find(tensors, name, &SafetensorsView::name);
  }
  void remove(std::string_view name) {
    std::erase_if(tensors, [&](const auto& tensor) { return tensor.name == name; });
  }
  /// Casts every value to 16 bits.
  void narrow(const std::string& dtype) {
    for (auto& tensor : tensors) {
      const auto* const from = reinterpret_cast<const float*>(tensor.bytes.data());
      auto& to = narrowed_.emplace_back(tensor.bytes.size() / sizeof(float));
      std::transform(from, from + to.size(), to.begin(),
                     dtype == "F16" ? f16_from_float : bf16_from_float);
      tensor.dtype = dtype, tensor.bytes = std::as_bytes(std::span{to});
    }
  }

  void write_config() const { write_bytes(folder / "config.json", json.dump(2)); }
  void write() const {
    write_config();
    REQUIRE(write_safetensors(folder / "model.safetensors", {{"format", "pt"}}, tensors));
  }
  /// Writes the tensors alternately to two files, with an index. Returns the index.
  nlohmann::json write_shards() const {
    write_config();
    std::vector<SafetensorsView> parts[2];
    nlohmann::json map;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      parts[i % 2].push_back(tensors[i]);
      map[tensors[i].name] = shard(i % 2);
    }
    for (std::size_t i = 0; i < 2; ++i)
      REQUIRE(write_safetensors(folder / shard(i), {{"format", "pt"}}, parts[i]));
    nlohmann::json index{{"metadata", {{"total_size", 1}}}, {"weight_map", map}};
    write_index(index);
    return index;
  }
  void write_index(const nlohmann::json& index) const {
    write_bytes(folder / "model.safetensors.index.json", index.dump());
  }
  static std::string shard(std::size_t number) {
    return number == 0 ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
  }

  Result<training::Pretrained> open() const { return training::open_pretrained(config); }
  std::string refusal() const {
    const auto opened = open();
    REQUIRE_FALSE(opened);
    CHECK(opened.error().exit_code() == 2);
    return opened.error().message;
  }
  /// Checks that all tensors of the opened model have the known values.
  void check_values() const {
    const auto opened = open();
    INFO((opened ? "" : opened.error().to_string()));
    REQUIRE(opened);
    CHECK(opened->notes.size() == 1);
    CHECK(opened->state->header().tensors.size() == values.size());
    for (const auto& tensor : values) {
      CAPTURE(tensor.name);
      CHECK(tensor_values(opened->state, tensor.name) == tensor.values);
    }
  }

  ScratchFolder folder;
  Config config;
  std::vector<nn::InitialTensor> values; ///< values of our model
  std::vector<SafetensorsView> tensors;  ///< tensors of the folder's files
  nlohmann::json json;

private:
  std::span<const std::byte> bytes_of(const std::vector<float>& numbers) {
    return std::as_bytes(std::span{kept_.emplace_back(numbers)});
  }
  static nlohmann::json gpt2_json() {
    return {{"architectures", {"GPT2LMHeadModel"}},
            {"model_type", "gpt2"},
            {"vocab_size", 257},
            {"n_positions", 6},
            {"n_embd", 8},
            {"n_layer", 2},
            {"n_head", 2},
            {"n_inner", 12},
            {"activation_function", "gelu_new"},
            {"layer_norm_epsilon", 1e-5}};
  }
  static nlohmann::json llama_json() {
    return {{"architectures", {"LlamaForCausalLM"}},
            {"model_type", "llama"},
            {"vocab_size", 257},
            {"hidden_size", 8},
            {"intermediate_size", 12},
            {"num_hidden_layers", 2},
            {"num_attention_heads", 2},
            {"num_key_value_heads", 1},
            {"hidden_act", "silu"},
            {"rms_norm_eps", 1e-5},
            {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 10000.0}}},
            {"tie_word_embeddings", false}};
  }

  std::deque<std::vector<float>> kept_;
  std::deque<std::vector<std::uint16_t>> narrowed_;
};

} // namespace troupe::testing
