// Hidden layers with relu between them.
#include "core/config/model.hpp"
#include "nn/models/families.hpp"
#include "nn/models/shared_keys.hpp"

#include <fmt/format.h>

namespace troupe::nn {

namespace {

std::vector<ModelKey> keys_of_mlp(ModelConfig& model) {
  return {{.key = {"model.hidden",
                   &model.hidden,
                   {.min = 1, .max = 1000000},
                   "Widths of the hidden layers"},
           .elsewhere = "{} has no hidden layers",
           .refused_elsewhere = false},
          bias_key(model)};
}

ConfigConflicts conflicts_of_mlp(const ModelConfig& model, const InputSpec&) {
  if (!model.hidden.empty())
    return {};
  return {{{"model.hidden", "model.name"},
           "mlp needs a hidden layer",
           "a list of widths; model.name: linear has none"}};
}

// Each hidden layer is a unit; the first one also flattens the samples, images in (H, W, C) order.
TensorId add_mlp(const FeatureArguments& arguments) {
  auto& [builder, input, model, training] = arguments;
  auto x = input;
  for (std::size_t i = 0; i < model.hidden.size(); ++i) {
    const auto name = fmt::format("layers.{}", i);
    builder.begin_unit(name);
    if (i == 0)
      x = builder.flatten("flatten", x);
    x = builder.relu(name + ".relu",
                     builder.linear(name, x, model.hidden[i], {.bias = model.bias}));
  }
  builder.begin_unit("head");
  return x;
}

} // namespace

Family mlp() {
  return {.names = {"mlp"},
          .help = "hidden layers with relu between them",
          .keys = keys_of_mlp,
          .conflicts = conflicts_of_mlp,
          .add_features = add_mlp};
}

} // namespace troupe::nn
