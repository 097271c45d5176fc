#include "families.hpp"

#include <fmt/format.h>

namespace troupe::nn {

namespace {

TensorId add_block(GraphBuilder& builder, TensorId x, const std::string& name, std::int64_t width,
                   std::int64_t stride, bool training) {
  builder.begin_unit(name);
  auto y = builder.conv2d(name + ".conv1", x, width, {3, stride, 1});
  y = builder.relu(name + ".relu1", builder.batch_norm(name + ".bn1", y, training));
  y = builder.conv2d(name + ".conv2", y, width, {3, 1, 1});
  y = builder.batch_norm(name + ".bn2", y, training);
  const auto& shape = builder.shape(x);
  const auto missing = shape.rank() == 4 ? width - shape[3] : 0;
  auto shortcut = x;
  if (stride != 1 || missing != 0)
    shortcut = builder.subsample_pad(
        name + ".shortcut", x,
        {.stride = stride, .pad_before = missing / 2, .pad_after = missing - missing / 2});
  return builder.relu(name + ".relu", builder.add(name + ".add", y, shortcut));
}

} // namespace

TensorId add_cifar_resnet(GraphBuilder& builder, TensorId images, const CifarResNetSpec& spec,
                          bool training) {
  builder.begin_unit("stem");
  auto x = builder.conv2d("conv1", images, spec.width, {3, 1, 1});
  x = builder.relu("relu", builder.batch_norm("bn1", x, training));
  for (std::int64_t stage = 0; stage < 3; ++stage)
    for (std::int64_t i = 0; i < spec.n; ++i)
      x = add_block(builder, x, fmt::format("layer{}.{}", stage + 1, i), spec.width << stage,
                    stage > 0 && i == 0 ? 2 : 1, training);
  builder.begin_unit("head");
  return builder.flatten("flatten", builder.global_avg_pool("avgpool", x));
}

} // namespace troupe::nn
