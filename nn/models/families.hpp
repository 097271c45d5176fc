/// The model families: from images to the features that the head's classifier takes.
#pragma once

#include "../builder.hpp"
#include "models.hpp"

#include <array>

namespace troupe::nn {

enum class BlockKind : std::uint8_t { basic, bottleneck };

/// He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, as torchvision has it: the
/// stride of a bottleneck is in its 3x3 convolution.
struct ResNetSpec {
  BlockKind block;
  std::array<std::int64_t, 4> blocks; ///< per stage, of 1, 2, 4, 8 times the width in channels
  std::int64_t width = 64;
};

/// The network for CIFAR-10 of the same paper, section 4.2: 6n + 2 layers, shortcuts without
/// parameters (option A).
struct CifarResNetSpec {
  std::int64_t n; ///< blocks per stage, of 1, 2, 4 times the width in channels
  std::int64_t width = 16;
};

// Each returns the features (N, C), with the unit "head" begun.
TensorId add_resnet(GraphBuilder& builder, TensorId images, const ResNetSpec& spec, bool imagenet,
                    bool training);
TensorId add_cifar_resnet(GraphBuilder& builder, TensorId images, const CifarResNetSpec& spec,
                          bool training);
TensorId add_mlp(GraphBuilder& builder, TensorId images, const std::vector<std::int64_t>& hidden);

} // namespace troupe::nn
