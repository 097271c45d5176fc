// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, with the names and
// the initial values of Hugging Face's GPT2LMHeadModel. Its weights are (in, out) there, (out, in)
// here.
#include "families.hpp"
#include "language.hpp"
#include "shared_keys.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace troupe::nn {

namespace {

constexpr std::int64_t usual_positions = 1024;

constexpr std::array gpt2_sizes = {LanguageSize{"gpt2-mini", 6, 384, 6, 6, 4 * 384},
                                   LanguageSize{"gpt2", 12, 768, 12, 12, 4 * 768},
                                   LanguageSize{"gpt2-medium", 24, 1024, 16, 16, 4 * 1024},
                                   LanguageSize{"gpt2-large", 36, 1280, 20, 20, 4 * 1280},
                                   LanguageSize{"gpt2-xl", 48, 1600, 25, 25, 4 * 1600}};

std::vector<ModelKey> keys_of_gpt2(ModelConfig& model) {
  auto keys = language_keys(model);
  keys.push_back(width_key(model));
  keys.push_back({.key = {"model.positions",
                          &model.positions,
                          {.min = 1, .max = 1000000},
                          "Places that have an embedding, at least a sequence; not given: 1024"},
                  .elsewhere = "{} has no table of positions",
                  .refused_elsewhere = false});
  return keys;
}

ConfigConflicts conflicts_of_gpt2(const ModelConfig& model, const InputSpec& input) {
  auto found = language_conflicts(size_of_model(gpt2_sizes, model), model, input);
  const auto positions = model.positions.value_or(usual_positions);
  if (input.sample.elements() > positions)
    found.push_back({{"model.positions"},
                     fmt::format("sequences have {} tokens, of which {} have a position",
                                 input.sample.elements(), positions),
                     fmt::format("at least {}", input.sample.elements())});
  return found;
}

class Gpt2 {
public:
  explicit Gpt2(const LanguageArguments& arguments)
      : arguments_{arguments}, builder_{arguments.builder}, size_{size_of_model(gpt2_sizes,
                                                                                arguments.model)} {}

  void add() {
    builder_.begin_unit("embedding");
    const auto table = embedding_table(arguments_, "transformer.wte", size_.width);
    const auto shared = arguments_.model.head != "own"
                            ? builder_.apply(Op::share, "transformer.wte.shared", {table})
                            : -1;
    auto x = embed(table);
    for (std::int64_t i = 0; i < size_.layers; ++i)
      x = block(x, fmt::format("transformer.h.{}", i));
    builder_.begin_unit("head");
    add_language_head(arguments_, builder_.layer_norm("transformer.ln_f", x), shared);
  }

private:
  TensorId embed(TensorId table) {
    const auto x = builder_.apply(Op::embedding, "transformer.wte", {arguments_.tokens, table});
    const auto positions =
        builder_.parameter("transformer.wpe.weight",
                           {arguments_.model.positions.value_or(usual_positions), size_.width},
                           Initial::normal(initial_deviation));
    return builder_.apply(Op::position_embedding, "transformer.wpe", {x, positions},
                          PositionAttributes{arguments_.sequence});
  }

  TensorId linear(const std::string& name, TensorId x, std::int64_t out) {
    return builder_.linear(name, x, out, {.weight = Initial::normal(initial_deviation)});
  }
  /// Every block adds to the stream twice: its deviation stays the same, however many there are.
  TensorId residual(const std::string& name, TensorId x, TensorId stream) {
    const auto additions = 2.0 * static_cast<double>(size_.layers);
    const auto y =
        builder_.linear(name, x, size_.width,
                        {.weight = Initial::normal(initial_deviation / std::sqrt(additions))});
    return builder_.add(name + ".add", stream, y);
  }

  TensorId block(TensorId x, const std::string& name) {
    builder_.begin_unit(name);
    const AttentionAttributes heads{.sequence = arguments_.sequence,
                                    .heads = size_.heads,
                                    .kv_heads = size_.kv_heads,
                                    .head_dim = size_.head_dim()};
    const auto qkv = linear(name + ".attn.c_attn", builder_.layer_norm(name + ".ln_1", x),
                            (size_.heads + 2 * size_.kv_heads) * size_.head_dim());
    const auto y =
        builder_.apply(Op::causal_attention, name + ".attn", {qkv}, heads, {"log_sum_exp"});
    x = residual(name + ".attn.c_proj", y, x);
    const auto hidden =
        linear(name + ".mlp.c_fc", builder_.layer_norm(name + ".ln_2", x), size_.intermediate);
    return residual(name + ".mlp.c_proj", builder_.gelu(name + ".mlp.act", hidden, {.tanh = true}),
                    x);
  }

  const LanguageArguments& arguments_;
  GraphBuilder& builder_;
  LanguageSize size_;
};

void add_gpt2(const LanguageArguments& arguments) {
  Gpt2{arguments}.add();
}

} // namespace

Family gpt2() {
  return {.names = names_of(gpt2_sizes),
          .help = "GPT-2, for tokens",
          .keys = keys_of_gpt2,
          .conflicts = conflicts_of_gpt2,
          .add_language_model = add_gpt2};
}

} // namespace troupe::nn
