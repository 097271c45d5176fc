#include "families.hpp"

#include <fmt/format.h>

namespace troupe::nn {

namespace {

struct Block {
  std::string name; ///< "layer1.0"
  std::int64_t width;
  std::int64_t stride;
};

class ResNet {
public:
  ResNet(GraphBuilder& builder, const ResNetSpec& spec, bool training)
      : builder_{builder}, spec_{spec}, training_{training} {}

  TensorId stem(TensorId x, bool imagenet) {
    builder_.begin_unit("stem");
    const auto shape = imagenet ? Conv2dAttributes{7, 2, 3} : Conv2dAttributes{3, 1, 1};
    x = builder_.relu("relu", convolve("conv1", "bn1", x, spec_.width, shape));
    if (!imagenet)
      return x;
    return builder_.max_pool("maxpool", x,
                             {.kernel_h = 3, .kernel_w = 3, .stride = 2, .padding = 1});
  }

  TensorId stages(TensorId x) {
    for (std::int64_t stage = 0; stage < 4; ++stage)
      for (std::int64_t i = 0; i < spec_.blocks[static_cast<std::size_t>(stage)]; ++i)
        x = block(x, {fmt::format("layer{}.{}", stage + 1, i), spec_.width << stage,
                      stage > 0 && i == 0 ? 2 : 1});
    return x;
  }

private:
  TensorId block(TensorId x, const Block& b) {
    builder_.begin_unit(b.name);
    const auto shortcut = downsample(x, b);
    const auto residual = spec_.block == BlockKind::basic ? basic(x, b) : bottleneck(x, b);
    return builder_.relu(b.name + ".relu", builder_.add(b.name + ".add", residual, shortcut));
  }

  TensorId downsample(TensorId x, const Block& b) {
    const auto out = b.width * (spec_.block == BlockKind::basic ? 1 : 4);
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
  const ResNetSpec& spec_;
  bool training_;
};

} // namespace

TensorId add_resnet(GraphBuilder& builder, TensorId images, const ResNetSpec& spec, bool imagenet,
                    bool training) {
  ResNet model{builder, spec, training};
  const auto x = model.stages(model.stem(images, imagenet));
  builder.begin_unit("head");
  return builder.flatten("flatten", builder.global_avg_pool("avgpool", x));
}

} // namespace troupe::nn
