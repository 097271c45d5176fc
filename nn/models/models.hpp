/// The models by name.
///
/// Every graph has the tensors images (N, H, W, C), labels (N, i32), logits (N, classes), loss and
/// correct. Parameters and statistics have the names of torchvision's models. Units are "stem", one
/// for every residual block ("layer1.0") or hidden layer, and "head".
#pragma once

#include "troupe/core/config/training.hpp"
#include "troupe/core/error.hpp"
#include "troupe/core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

struct ModelOptions {
  std::int64_t image_size = 32; ///< height and width
  std::int64_t batch = 1;
  /// Batch norm with the batch's statistics; false gives the graph for evaluation, with the same
  /// parameters and statistics.
  bool training = true;
  float label_smoothing = 0.0f; ///< cross_entropy only
};

/// resnet18, 34, 50, 101, 152 (ImageNet or CIFAR stem); resnet20, 32, 56; mlp; linear.
const std::vector<std::string>& model_names();

/// The forward graph with its loss. With mean_squared_error the target is the one-hot vector of the
/// label. Errors: invalid_input for an unknown model (names the nearest), stem or loss, and for
/// images the model cannot take.
Result<Graph> build_model(const ModelConfig& model, const ModelOptions& options);

} // namespace troupe::nn
