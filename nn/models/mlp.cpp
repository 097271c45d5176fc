#include "families.hpp"

#include <fmt/format.h>

namespace troupe::nn {

// Each hidden layer is a unit; the first one also flattens the images, in (H, W, C) order.
TensorId add_mlp(GraphBuilder& builder, TensorId images, const std::vector<std::int64_t>& hidden) {
  auto x = images;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const auto name = fmt::format("layers.{}", i);
    builder.begin_unit(name);
    if (i == 0)
      x = builder.flatten("flatten", x);
    x = builder.relu(name + ".relu", builder.linear(name, x, hidden[i]));
  }
  builder.begin_unit("head");
  return hidden.empty() ? builder.flatten("flatten", x) : x;
}

} // namespace troupe::nn
