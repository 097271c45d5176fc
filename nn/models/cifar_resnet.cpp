// The network for CIFAR-10 of He et al., "Deep Residual Learning for Image Recognition", CVPR 2016,
// section 4.2: 6n + 2 layers, shortcuts without parameters (option A).
#include "core/config/model.hpp"
#include "nn/models/families.hpp"
#include "nn/models/shared_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace troupe::nn {

namespace {

struct CifarResNetSize {
  std::string_view name;
  std::int64_t blocks; ///< per stage, which has 1, 2, 4 times the width in channels
};

constexpr std::array cifar_resnet_sizes = {
    CifarResNetSize{"resnet20", 3}, CifarResNetSize{"resnet32", 5}, CifarResNetSize{"resnet56", 9}};

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

TensorId add_cifar_resnet(const FeatureArguments& arguments) {
  auto& [builder, images, model, training] = arguments;
  const auto blocks =
      std::ranges::find(cifar_resnet_sizes, model.name, &CifarResNetSize::name)->blocks;
  const auto width = model.width.value_or(16);
  builder.begin_unit("stem");
  auto x = builder.conv2d("conv1", images, width, {3, 1, 1});
  x = builder.relu("relu", builder.batch_norm("bn1", x, training));
  for (std::int64_t stage = 0; stage < 3; ++stage)
    for (std::int64_t i = 0; i < blocks; ++i)
      x = add_block(builder, x, fmt::format("layer{}.{}", stage + 1, i), width << stage,
                    stage > 0 && i == 0 ? 2 : 1, training);
  builder.begin_unit("head");
  return builder.flatten("flatten", builder.global_avg_pool("avgpool", x));
}

} // namespace

Family cifar_resnet() {
  return {.names = names_of(cifar_resnet_sizes),
          .help = "small ResNets for 32x32 images",
          .images_only = true,
          .batch_norm = true,
          .keys = [](ModelConfig& model) { return std::vector{width_key(model)}; },
          .add_features = add_cifar_resnet};
}

} // namespace troupe::nn
