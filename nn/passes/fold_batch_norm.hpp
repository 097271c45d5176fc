/// Folds batch norm with running statistics, which is linear in each channel, into the convolution
/// before it (Jacob et al., "Quantization and Training of Neural Networks", CVPR 2018, section
/// 3.2).
#pragma once

#include "core/graph/graph.hpp"

#include <span>
#include <string>
#include <vector>

namespace troupe::nn {

/// A folded batch norm, by its tensors' names. The convolution's weight keeps its name but has
/// other values. The batch norm's shift becomes the convolution's bias.
struct BatchNormFolding {
  std::string weight, scale, shift, mean, variance;
  float eps = 0;

  /// Sets weight (O, ...) to weight * scale / sqrt(variance + eps), by output channel.
  void fold_weight(std::span<float> values, std::span<const float> scale_values,
                   std::span<const float> variance_values) const;
  /// Sets the bias to shift - mean * scale / sqrt(variance + eps).
  void fold_bias(std::span<float> shift_values, std::span<const float> scale_values,
                 std::span<const float> mean_values, std::span<const float> variance_values) const;
};

struct FoldedGraph {
  Graph graph; ///< without parameters and statistics that are no longer read
  std::vector<BatchNormFolding> foldings;
};

/// Folds the batch norms of a forward graph that use running statistics. Call it after fuse: the
/// convolution also takes over the batch norm's fused residual and relu. Does not fold a
/// convolution whose result has another reader or is in `keep`, or one that shares its parameters.
FoldedGraph fold_batch_norm(const Graph& evaluation, const std::vector<std::string>& keep = {});

} // namespace troupe::nn
