#include "nn/models/language.hpp"

#include "nn/models/shared_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::nn {

namespace {

ModelKey size_key(std::string path, std::optional<std::int64_t>& value, std::string help,
                  double most = 65536) {
  return {.key = {std::move(path), &value, {.min = 1, .max = most}, std::move(help)},
          .elsewhere = "{} is not a language model",
          .refused_elsewhere = false};
}

} // namespace

LanguageSize size_of_model(std::span<const LanguageSize> sizes, const ModelConfig& model) {
  auto size = *std::ranges::find(sizes, model.name, &LanguageSize::name);
  size.layers = model.layers.value_or(size.layers);
  // If the config changes only the heads, all heads have separate keys and values. If it changes
  // only the width, the ratio of intermediate to width stays.
  if (model.heads && !model.kv_heads)
    size.kv_heads = *model.heads;
  if (model.width && !model.intermediate)
    size.intermediate = size.intermediate * *model.width / size.width;
  size.width = model.width.value_or(size.width);
  size.heads = model.heads.value_or(size.heads);
  size.kv_heads = model.kv_heads.value_or(size.kv_heads);
  size.intermediate = std::max<std::int64_t>(model.intermediate.value_or(size.intermediate), 1);
  return size;
}

std::vector<ModelKey> language_keys(ModelConfig& model) {
  return {
      size_key("model.layers", model.layers, "Number of blocks of a language model", 1000),
      size_key("model.heads", model.heads, "Number of attention heads, a divisor of model.width"),
      size_key("model.intermediate", model.intermediate, "Width of the hidden layer of each block"),
      size_key(
          "model.vocabulary", model.vocabulary,
          "Vocabulary size: rows of the token embedding; null: the vocabulary size of the data",
          10000000),
      {.key = {"model.head",
               choice(model.head),
               {},
               "Weight of the head: tied (shared with the token embedding), own (separate) or "
               "usual (the model's default)"},
       .elsewhere = "{} is not a language model",
       .refused_elsewhere = false},
      {.key = {"model.norm_epsilon",
               &model.norm_epsilon,
               {.min = 1e-12, .max = 1},
               "Epsilon that norms add to the variance or mean square before the square root"},
       .elsewhere = "{} is not a language model",
       .refused_elsewhere = false},
      width_key(model)};
}

ConfigConflicts language_conflicts(const LanguageSize& size, const ModelConfig& model,
                                   const InputSpec& input) {
  ConfigConflicts found;
  if (size.width % size.heads != 0)
    found.push_back({{"model.heads", "model.width"},
                     fmt::format("{} heads do not divide a width of {}", size.heads, size.width),
                     "heads that divide the width"});
  if (size.heads % size.kv_heads != 0)
    found.push_back({{"model.kv_heads", "model.heads"},
                     fmt::format("{} heads cannot share {} heads of keys and values", size.heads,
                                 size.kv_heads),
                     "a divisor of model.heads"});
  if (model.vocabulary && *model.vocabulary < input.vocabulary)
    found.push_back({{"model.vocabulary", "data.dataset"},
                     fmt::format("the data has {} tokens, but the vocabulary has {}",
                                 input.vocabulary, *model.vocabulary),
                     fmt::format("at least {}", input.vocabulary)});
  return found;
}

std::int64_t vocabulary_of(const ModelConfig& model, std::int64_t vocabulary_of_data) {
  return model.vocabulary.value_or(vocabulary_of_data);
}

TensorId embedding_table(const LanguageArguments& arguments, const std::string& name,
                         std::int64_t width) {
  return arguments.builder.parameter(name + ".weight",
                                     {vocabulary_of(arguments.model, arguments.vocabulary), width},
                                     Initial::normal(initial_deviation));
}

void add_language_head(const LanguageArguments& arguments, TensorId x, TensorId shared) {
  auto& builder = arguments.builder;
  const auto& features = builder.shape(x);
  if (shared < 0)
    shared = embedding_table(arguments, "lm_head", features.rank() == 2 ? features[1] : 0);
  builder.apply(Op::linear_cross_entropy, "loss", {x, shared, arguments.labels},
                LossAttributes{.label_smoothing = arguments.label_smoothing},
                {"log_sum_exp", "counted"});
}

} // namespace troupe::nn
