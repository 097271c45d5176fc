// He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, in torchvision's variant:
// the stride of a bottleneck is in its 3x3 convolution.
#include "core/config/model.hpp"
#include "nn/models/families.hpp"
#include "nn/models/shared_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace troupe::nn {

namespace {

enum class BlockKind : std::uint8_t { basic, bottleneck };

struct ResNetSize {
  std::string_view name;
  BlockKind block;
  std::array<std::int64_t, 4> blocks; ///< per stage, which has 1, 2, 4, 8 times the width
};

constexpr std::array resnet_sizes = {ResNetSize{"resnet18", BlockKind::basic, {2, 2, 2, 2}},
                                     ResNetSize{"resnet34", BlockKind::basic, {3, 4, 6, 3}},
                                     ResNetSize{"resnet50", BlockKind::bottleneck, {3, 4, 6, 3}},
                                     ResNetSize{"resnet101", BlockKind::bottleneck, {3, 4, 23, 3}},
                                     ResNetSize{"resnet152", BlockKind::bottleneck, {3, 8, 36, 3}}};

struct Block {
  std::string name; ///< "layer1.0"
  std::int64_t width;
  std::int64_t stride;
};

class ResNet {
public:
  explicit ResNet(const FeatureArguments& arguments)
      : builder_{arguments.builder}, size_{*std::ranges::find(resnet_sizes, arguments.model.name,
                                                              &ResNetSize::name)},
        width_{arguments.model.width.value_or(64)}, training_{arguments.training} {}

  TensorId stem(TensorId x, bool imagenet) {
    builder_.begin_unit("stem");
    const auto shape = imagenet ? Conv2dAttributes{7, 2, 3} : Conv2dAttributes{3, 1, 1};
    x = builder_.relu("relu", convolve("conv1", "bn1", x, width_, shape));
    if (!imagenet)
      return x;
    return builder_.max_pool("maxpool", x,
                             {.kernel_h = 3, .kernel_w = 3, .stride = 2, .padding = 1});
  }

  TensorId stages(TensorId x) {
    for (std::int64_t stage = 0; stage < 4; ++stage)
      for (std::int64_t i = 0; i < size_.blocks[static_cast<std::size_t>(stage)]; ++i)
        x = block(x, {fmt::format("layer{}.{}", stage + 1, i), width_ << stage,
                      stage > 0 && i == 0 ? 2 : 1});
    return x;
  }

private:
  TensorId block(TensorId x, const Block& b) {
    builder_.begin_unit(b.name);
    const auto shortcut = downsample(x, b);
    const auto residual = size_.block == BlockKind::basic ? basic(x, b) : bottleneck(x, b);
    return builder_.relu(b.name + ".relu", builder_.add(b.name + ".add", residual, shortcut));
  }

  TensorId downsample(TensorId x, const Block& b) {
    const auto out = b.width * (size_.block == BlockKind::basic ? 1 : 4);
    const auto& shape = builder_.shape(x);
    if (b.stride == 1 && shape.rank() == 4 && shape[3] == out)
      return x;
    return convolve(b.name + ".downsample.0", b.name + ".downsample.1", x, out, {1, b.stride, 0});
  }

  TensorId basic(TensorId x, const Block& b) {
    x = builder_.relu(b.name + ".relu1", convolve(b, 1, x, b.width, {3, b.stride, 1}));
    return convolve(b, 2, x, b.width, {3, 1, 1});
  }

  TensorId bottleneck(TensorId x, const Block& b) {
    x = builder_.relu(b.name + ".relu1", convolve(b, 1, x, b.width, {1, 1, 0}));
    x = builder_.relu(b.name + ".relu2", convolve(b, 2, x, b.width, {3, b.stride, 1}));
    return convolve(b, 3, x, 4 * b.width, {1, 1, 0});
  }

  TensorId convolve(const Block& b, int i, TensorId x, std::int64_t out,
                    const Conv2dAttributes& attributes) {
    return convolve(fmt::format("{}.conv{}", b.name, i), fmt::format("{}.bn{}", b.name, i), x, out,
                    attributes);
  }

  TensorId convolve(const std::string& conv, const std::string& norm, TensorId x, std::int64_t out,
                    const Conv2dAttributes& attributes) {
    return builder_.batch_norm(norm, builder_.conv2d(conv, x, out, attributes), training_);
  }

  GraphBuilder& builder_;
  const ResNetSize& size_;
  std::int64_t width_;
  bool training_;
};

TensorId add_resnet(const FeatureArguments& arguments) {
  ResNet model{arguments};
  const auto x = model.stages(model.stem(arguments.input, arguments.model.stem == Stem::imagenet));
  arguments.builder.begin_unit("head");
  return arguments.builder.flatten("flatten", arguments.builder.global_avg_pool("avgpool", x));
}

std::vector<ModelKey> keys_of_resnet(ModelConfig& model) {
  return {{.key = {"model.stem",
                   choice(model.stem),
                   {},
                   "First layers: a 3x3 convolution (cifar), or a 7x7 convolution and max pooling "
                   "(imagenet)"},
           .elsewhere = "{} has no imagenet stem"},
          width_key(model)};
}

ConfigConflicts conflicts_of_resnet(const ModelConfig& model, const InputSpec& input) {
  const auto size = std::min(input.sample[0], input.sample[1]);
  if (model.stem != Stem::imagenet || size >= 32)
    return {};
  return {{{"model.stem", "data.image_size"},
           fmt::format("the imagenet stem shrinks images too much for image_size {}", size),
           "imagenet for an image_size of at least 32"}};
}

} // namespace

Family resnet() {
  return {.names = names_of(resnet_sizes),
          .help = "ResNets for ImageNet",
          .images_only = true,
          .batch_norm = true,
          .keys = keys_of_resnet,
          .conflicts = conflicts_of_resnet,
          .add_features = add_resnet};
}

} // namespace troupe::nn
