// Softmax or linear regression: only the head.
#include "nn/models/families.hpp"
#include "nn/models/shared_keys.hpp"

namespace troupe::nn {

namespace {

// Flattens the samples, images in (H, W, C) order.
TensorId add_linear(const FeatureArguments& arguments) {
  arguments.builder.begin_unit("head");
  return arguments.builder.flatten("flatten", arguments.input);
}

} // namespace

Family linear() {
  return {.names = {"linear"},
          .help = "no hidden layer",
          .keys = [](ModelConfig& model) { return std::vector{bias_key(model)}; },
          .add_features = add_linear};
}

} // namespace troupe::nn
