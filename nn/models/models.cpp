#include "nn/models/models.hpp"

#include "core/device/dropout_math.hpp"
#include "core/fail.hpp"
#include "core/suggestion.hpp"
#include "nn/models/families.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace troupe::nn {

namespace {

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  const auto near = suggest(name, known);
  return near.empty() ? fmt::format("known: {}", fmt::join(known, ", "))
                      : fmt::format("did you mean {}?", near);
}

Status check_rules(ModelConfig model) {
  for (const auto& one : model_keys(model))
    for (const auto& breach : check_rule(one.key))
      return fail(Errc::invalid_input, "{}: {}; allowed: {}", one.key.path, breach.what,
                  allowed_values(one.key));
  return {};
}

Status check(const ModelConfig& model, const ModelOptions& options) {
  if (!family_of(model))
    return fail(Errc::invalid_input, "there is no model \"{}\": {}", model.name,
                suggestion(model.name, names_where(model, [](const Family&) { return true; })));
  const auto& sample = options.input.sample.dims;
  if (options.batch < 1 || model.num_classes < 1 || sample.empty() ||
      std::ranges::any_of(sample, [](std::int64_t size) { return size < 1; }))
    return fail(Errc::invalid_input, "{} needs at least one sample, one feature and one output",
                model.name);
  TROUPE_TRY(check_rules(model));
  return to_status(find_conflicts(model, options.input));
}

Shape batch_of(std::int64_t samples, const Shape& sample) {
  auto dims = sample.dims;
  dims.insert(dims.begin(), samples);
  return Shape{std::move(dims)};
}

/// Adds tokens, their labels and the whole model.
void add_language_model(GraphBuilder& builder, const ModelConfig& model,
                        const ModelOptions& options) {
  const auto& input = options.input;
  const auto shape = batch_of(options.batch, input.sample);
  const auto tokens = builder.input(input.name, shape, DType::i32);
  const auto labels = builder.target(input.target, shape, DType::i32);
  const bool drops = options.training && model.dropout > 0;
  const auto keys =
      drops ? builder.input(dropout_keys_name, {options.batch, dropout_key_words}, DType::i32) : -1;
  family_of(model)->add_language_model({builder, tokens, labels, model, input.sample.elements(),
                                        input.vocabulary, options.label_smoothing, keys});
}

TensorId add_target(GraphBuilder& builder, const ModelConfig& model, const ModelOptions& options) {
  const auto& input = options.input;
  return input.target_kind == TargetKind::labels
             ? builder.target(input.target, {options.batch}, DType::i32)
             : builder.target(input.target, {options.batch, model.num_classes}, DType::f32);
}

} // namespace

Result<Graph> build_model(const ModelConfig& model, const ModelOptions& options) {
  TROUPE_TRY(check(model, options));
  GraphBuilder builder;
  if (family_of(model)->takes_tokens()) {
    add_language_model(builder, model, options);
    return std::move(builder).finish();
  }
  // Inputs are added before the first unit begins and belong to it.
  const auto input =
      builder.input(options.input.name, batch_of(options.batch, options.input.sample));
  const auto target = add_target(builder, model, options);
  const auto features = family_of(model)->add_features({builder, input, model, options.training});
  const auto logits =
      builder.linear("fc", features, model.num_classes, {.output = "logits", .bias = model.bias});
  if (model.loss == LossKind::mean_squared_error)
    builder.mean_squared_error("loss", logits, target);
  else
    builder.softmax_cross_entropy("loss", logits, target, options.label_smoothing);
  if (options.input.target_kind == TargetKind::labels)
    builder.count_correct("correct", logits, target);
  return std::move(builder).finish();
}

} // namespace troupe::nn
