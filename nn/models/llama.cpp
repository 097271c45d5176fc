// Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023, with the names and
// the initial values of Hugging Face's LlamaForCausalLM.
#include "nn/models/families.hpp"
#include "nn/models/language.hpp"

#include <fmt/format.h>

#include <array>

namespace troupe::nn {

namespace {

// llama-1b is TinyLlama 1.1B (Zhang et al. 2024), llama-3b OpenLLaMA 3B.
constexpr std::array llama_sizes = {LanguageSize{"llama-mini", 6, 384, 6, 2, 1024},
                                    LanguageSize{"llama-110m", 12, 768, 12, 12, 2048},
                                    LanguageSize{"llama-1b", 22, 2048, 32, 4, 5632},
                                    LanguageSize{"llama-3b", 26, 3200, 32, 32, 8640},
                                    LanguageSize{"llama-7b", 32, 4096, 32, 32, 11008}};

std::vector<ModelKey> keys_of_llama(ModelConfig& model) {
  auto keys = language_keys(model);
  keys.push_back({.key = {"model.kv_heads",
                          &model.kv_heads,
                          {.min = 1, .max = 65536},
                          "Number of key and value heads, a divisor of model.heads; null: "
                          "model.heads if that is set, else the model's default"},
                  .elsewhere = "each head of {} has separate keys and values",
                  .refused_elsewhere = false});
  keys.push_back({.key = {"model.rope_theta",
                          &model.rope_theta,
                          {.min = 1, .max = 1e9},
                          "Base of the rotary position embedding: pair i of n rotates by the "
                          "token's position times theta^(-i / n)"},
                  .elsewhere = "{} has no rotary positions",
                  .refused_elsewhere = false});
  return keys;
}

ConfigConflicts conflicts_of_llama(const ModelConfig& model, const InputSpec& input) {
  const auto size = size_of_model(llama_sizes, model);
  auto found = language_conflicts(size, model, input);
  if (found.empty() && size.head_dim() % 2 != 0)
    found.push_back(
        {{"model.heads", "model.width"},
         fmt::format("rotary positions need heads of an even width, but the heads have {} elements",
                     size.head_dim()),
         "heads of an even width"});
  return found;
}

class Llama {
public:
  explicit Llama(const LanguageArguments& arguments)
      : arguments_{arguments}, builder_{arguments.builder}, size_{size_of_model(llama_sizes,
                                                                                arguments.model)} {}

  void add() {
    builder_.begin_unit("embedding");
    const auto table = embedding_table(arguments_, "model.embed_tokens", size_.width);
    const auto shared = arguments_.model.head == HeadWeight::tied
                            ? builder_.apply(Op::share, "model.embed_tokens.shared", {table})
                            : -1;
    auto x = builder_.apply(Op::embedding, "model.embed_tokens", {arguments_.tokens, table});
    for (std::int64_t i = 0; i < size_.layers; ++i)
      x = block(x, fmt::format("model.layers.{}", i));
    builder_.begin_unit("head");
    add_language_head(arguments_, norm("model.norm", x), shared);
  }

private:
  TensorId norm(const std::string& name, TensorId x) {
    const auto scale = builder_.parameter(name + ".weight", {size_.width}, Initial::constant(1));
    return builder_.apply(Op::rms_norm, name, {x, scale},
                          RmsNormAttributes{static_cast<float>(arguments_.model.norm_epsilon)},
                          {"saved_inv_rms"});
  }

  TensorId linear(const std::string& name, TensorId x, std::int64_t out) {
    return builder_.linear(name, x, out,
                           {.bias = false, .weight = Initial::normal(initial_deviation)});
  }

  /// Returns a projection whose heads are rotated by their position.
  TensorId turned(const std::string& name, TensorId x, std::int64_t heads) {
    const RopeAttributes rope{.sequence = arguments_.sequence,
                              .heads = heads,
                              .head_dim = size_.head_dim(),
                              .theta = static_cast<float>(arguments_.model.rope_theta)};
    return builder_.apply(Op::rope, name + ".turned", {linear(name, x, heads * size_.head_dim())},
                          rope);
  }

  TensorId attention(TensorId x, const std::string& name) {
    const auto heads = size_.attention(arguments_.sequence);
    const auto q = turned(name + ".q_proj", x, size_.heads);
    const auto k = turned(name + ".k_proj", x, size_.kv_heads);
    const auto v = linear(name + ".v_proj", x, size_.kv_heads * size_.head_dim());
    const auto y = builder_.apply(Op::causal_attention, name, {q, k, v}, heads, {"log_sum_exp"});
    return linear(name + ".o_proj", y, size_.width);
  }

  TensorId feed_forward(TensorId x, const std::string& name) {
    const auto gate = linear(name + ".gate_proj", x, size_.intermediate);
    const auto up = linear(name + ".up_proj", x, size_.intermediate);
    return linear(name + ".down_proj", builder_.apply(Op::swiglu, name + ".act", {gate, up}),
                  size_.width);
  }

  TensorId block(TensorId x, const std::string& name) {
    builder_.begin_unit(name);
    x = builder_.add(name + ".add1", x,
                     attention(norm(name + ".input_layernorm", x), name + ".self_attn"));
    return builder_.add(name + ".add2", x,
                        feed_forward(norm(name + ".post_attention_layernorm", x), name + ".mlp"));
  }

  const LanguageArguments& arguments_;
  GraphBuilder& builder_;
  LanguageSize size_;
};

std::vector<HuggingFaceKey> hugging_face_keys_of_llama(const ModelConfig& model,
                                                       const InputSpec& input) {
  const auto size = size_of_model(llama_sizes, model);
  return {{"model_type", "llama", {}, "model.name"},
          {"vocab_size", vocabulary_of(model, input.vocabulary), 32000, "model.vocabulary"},
          {"hidden_size", size.width, 4096, "model.width"},
          {"intermediate_size", size.intermediate, 11008, "model.intermediate"},
          {"num_hidden_layers", size.layers, 32, "model.layers"},
          {"num_attention_heads", size.heads, 32, "model.heads"},
          {"num_key_value_heads", size.kv_heads, size.heads, "model.kv_heads"},
          {"head_dim", size.head_dim(), size.head_dim(), "model.heads"},
          {"hidden_act", "silu", "silu"},
          {"rms_norm_eps", model.norm_epsilon, 1e-6, "model.norm_epsilon"},
          {"rope_theta", model.rope_theta, 1e4, "model.rope_theta", {"rope_parameters.rope_theta"}},
          {.name = "rope_parameters.rope_type",
           .value = "default",
           .default_value = "default",
           .elsewhere = {"rope_scaling.rope_type", "rope_scaling.type"},
           .is_written = false},
          {"tie_word_embeddings", model.head == HeadWeight::tied, false, "model.head"},
          {"attention_bias", false, false},
          {"mlp_bias", false, false}};
}

HuggingFaceForm hugging_face_of_llama(const ModelConfig& model, const InputSpec& input) {
  return {.architecture = "LlamaForCausalLM",
          .keys = hugging_face_keys_of_llama(model, input),
          .written = {{"max_position_embeddings", input.sample.elements()},
                      {"attention_dropout", 0.0},
                      {"initializer_range", initial_deviation}},
          .prefix = "model.",
          .table = "model.embed_tokens.weight",
          .is_constant = [](std::string_view name) { // the angles of rotary positions
            return name.ends_with(".rotary_emb.inv_freq");
          }};
}

} // namespace

Family llama() {
  return {.names = names_of(llama_sizes),
          .help = "LLaMA, for tokens",
          .keys = keys_of_llama,
          .conflicts = conflicts_of_llama,
          .add_language_model = [](const LanguageArguments& arguments) { Llama{arguments}.add(); },
          .hugging_face = hugging_face_of_llama};
}

} // namespace troupe::nn
