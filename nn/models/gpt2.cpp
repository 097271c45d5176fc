// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, with the names and
// the initial values of Hugging Face's GPT2LMHeadModel. Its weights are (in, out) there, (out, in)
// here.
#include "nn/models/families.hpp"
#include "nn/models/language.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace troupe::nn {

namespace {

constexpr std::int64_t default_positions = 1024;

constexpr std::array gpt2_sizes = {LanguageSize{"gpt2-mini", 6, 384, 6, 6, 4 * 384},
                                   LanguageSize{"gpt2", 12, 768, 12, 12, 4 * 768},
                                   LanguageSize{"gpt2-medium", 24, 1024, 16, 16, 4 * 1024},
                                   LanguageSize{"gpt2-large", 36, 1280, 20, 20, 4 * 1280},
                                   LanguageSize{"gpt2-xl", 48, 1600, 25, 25, 4 * 1600}};

/// Each head has separate keys and values; model.kv_heads, which other models use, is ignored.
LanguageSize size_of_gpt2(const ModelConfig& model) {
  auto size = size_of_model(gpt2_sizes, model);
  size.kv_heads = size.heads;
  return size;
}

std::vector<ModelKey> keys_of_gpt2(ModelConfig& model) {
  auto keys = language_keys(model);
  keys.push_back(
      {.key = {"model.positions",
               &model.positions,
               {.min = 1, .max = 1000000},
               "Number of position embeddings, at least data.sequence_length; null: 1024"},
       .elsewhere = "{} has no position embeddings",
       .refused_elsewhere = false});
  keys.push_back({.key = {"model.dropout",
                          &model.dropout,
                          {.min = 0, .max = 1, .below_max = true},
                          "Dropout probability in training, for embeddings and for the outputs of "
                          "layers that blocks add to them"},
                  .elsewhere = "{} has no dropout"});
  return keys;
}

ConfigConflicts conflicts_of_gpt2(const ModelConfig& model, const InputSpec& input) {
  auto found = language_conflicts(size_of_gpt2(model), model, input);
  const auto positions = model.positions.value_or(default_positions);
  if (input.sample.elements() > positions)
    found.push_back({{"model.positions"},
                     fmt::format("sequences have {} tokens, but the model has only {} positions",
                                 input.sample.elements(), positions),
                     fmt::format("at least {}", input.sample.elements())});
  return found;
}

class Gpt2 {
public:
  explicit Gpt2(const LanguageArguments& arguments)
      : arguments_{arguments}, builder_{arguments.builder}, size_{size_of_gpt2(arguments.model)} {}

  void add() {
    builder_.begin_unit("embedding");
    const auto table = embedding_table(arguments_, "transformer.wte", size_.width);
    const auto shared = arguments_.model.head != HeadWeight::own
                            ? builder_.apply(Op::share, "transformer.wte.shared", {table})
                            : -1;
    auto x = embed(table);
    for (std::int64_t i = 0; i < size_.layers; ++i)
      x = block(x, fmt::format("transformer.h.{}", i));
    builder_.begin_unit("head");
    add_language_head(arguments_, norm("transformer.ln_f", x), shared);
  }

private:
  TensorId embed(TensorId table) {
    const auto x = builder_.apply(Op::embedding, "transformer.wte", {arguments_.tokens, table});
    const auto positions =
        builder_.parameter("transformer.wpe.weight",
                           {arguments_.model.positions.value_or(default_positions), size_.width},
                           Initial::normal(initial_deviation));
    return dropout("transformer.drop",
                   builder_.apply(Op::position_embedding, "transformer.wpe", {x, positions},
                                  PositionAttributes{arguments_.sequence}));
  }

  TensorId dropout(const std::string& name, TensorId x) {
    if (arguments_.dropout_keys < 0)
      return x;
    return builder_.apply(
        Op::dropout, name, {x, arguments_.dropout_keys},
        DropoutAttributes{static_cast<float>(arguments_.model.dropout), places_of_dropout_++});
  }

  TensorId norm(const std::string& name, TensorId x) {
    return builder_.layer_norm(name, x, {static_cast<float>(arguments_.model.norm_epsilon)});
  }

  TensorId linear(const std::string& name, TensorId x, std::int64_t out) {
    return builder_.linear(name, x, out, {.weight = Initial::normal(initial_deviation)});
  }

  /// Every block adds to the stream twice. The initial deviation keeps that of the stream
  /// independent of the number of blocks.
  TensorId residual(const std::string& name, TensorId x, TensorId stream) {
    const auto additions = 2.0 * static_cast<double>(size_.layers);
    const auto y =
        builder_.linear(name, x, size_.width,
                        {.weight = Initial::normal(initial_deviation / std::sqrt(additions))});
    return builder_.add(name + ".add", stream, dropout(name + ".dropout", y));
  }

  TensorId block(TensorId x, const std::string& name) {
    builder_.begin_unit(name);
    const auto heads = size_.attention(arguments_.sequence);
    const auto qkv = linear(name + ".attn.c_attn", norm(name + ".ln_1", x), 3 * size_.width);
    const auto y =
        builder_.apply(Op::causal_attention, name + ".attn", {qkv}, heads, {"log_sum_exp"});
    x = residual(name + ".attn.c_proj", y, x);
    const auto hidden = linear(name + ".mlp.c_fc", norm(name + ".ln_2", x), size_.intermediate);
    return residual(name + ".mlp.c_proj", builder_.gelu(name + ".mlp.act", hidden, {.tanh = true}),
                    x);
  }

  const LanguageArguments& arguments_;
  GraphBuilder& builder_;
  LanguageSize size_;
  std::int32_t places_of_dropout_ = 0;
};

std::vector<HuggingFaceKey> hugging_face_keys_of_gpt2(const ModelConfig& model,
                                                      const InputSpec& input) {
  const auto size = size_of_gpt2(model);
  const std::int64_t positions = model.positions.value_or(default_positions);
  return {
      {"model_type", "gpt2", {}, "model.name"},
      {"vocab_size", vocabulary_of(model, input.vocabulary), 50257, "model.vocabulary"},
      {"n_positions", positions, 1024, "model.positions"},
      {"n_embd", size.width, 768, "model.width"},
      {"n_layer", size.layers, 12, "model.layers"},
      {"n_head", size.heads, 12, "model.heads"},
      {"n_inner", size.intermediate, 4 * size.width, "model.intermediate"},
      {.name = "activation_function",
       .value = "gelu_new",
       .default_value = "gelu_new",
       .same = {"gelu_pytorch_tanh"}},
      {"layer_norm_epsilon", model.norm_epsilon, 1e-5, "model.norm_epsilon"},
      {"tie_word_embeddings", model.head != HeadWeight::own, true, "model.head"},
      {"scale_attn_weights", true, true},
      {"scale_attn_by_inverse_layer_idx", false, false},
      {.name = "add_cross_attention", .value = false, .default_value = false, .is_written = false}};
}

/// Weights of transformers' Conv1D.
bool is_transposed_in_gpt2(std::string_view name) {
  return name.ends_with(".c_attn.weight") || name.ends_with(".c_proj.weight") ||
         name.ends_with(".c_fc.weight");
}

/// The causal mask and the value for masked scores.
bool is_constant_of_gpt2(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

/// Attention has no dropout here, and the written config requests none in further training.
HuggingFaceForm hugging_face_of_gpt2(const ModelConfig& model, const InputSpec& input) {
  return {.architecture = "GPT2LMHeadModel",
          .keys = hugging_face_keys_of_gpt2(model, input),
          .written = {{"attn_pdrop", 0.0},
                      {"embd_pdrop", model.dropout},
                      {"resid_pdrop", model.dropout},
                      {"initializer_range", initial_deviation}},
          .prefix = "transformer.",
          .table = "transformer.wte.weight",
          .is_transposed = is_transposed_in_gpt2,
          .is_constant = is_constant_of_gpt2};
}

} // namespace

Family gpt2() {
  return {.names = names_of(gpt2_sizes),
          .help = "GPT-2, for tokens",
          .keys = keys_of_gpt2,
          .conflicts = conflicts_of_gpt2,
          .add_language_model = [](const LanguageArguments& arguments) { Gpt2{arguments}.add(); },
          .hugging_face = hugging_face_of_gpt2};
}

} // namespace troupe::nn
