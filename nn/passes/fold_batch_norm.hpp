/// Batch norm with running statistics is linear in each channel: it becomes part of the convolution
/// before it (Jacob et al., "Quantization and Training of Neural Networks", CVPR 2018,
/// section 3.2).
#pragma once

#include "core/graph/graph.hpp"

#include <span>
#include <string>
#include <vector>

namespace troupe::nn {

/// A batch norm that is gone, by its tensors' names. The convolution's weight has other values
/// under its own name, and what was the batch norm's shift is the convolution's bias.
struct BatchNormFolding {
  std::string weight, scale, shift, mean, variance;
  float eps = 0;

  /// weight (O, ...) times scale / sqrt(variance + eps), by output channel.
  void fold_weight(std::span<float> values, std::span<const float> scale_values,
                   std::span<const float> variance_values) const;
  /// shift - mean * scale / sqrt(variance + eps).
  void fold_bias(std::span<float> shift_values, std::span<const float> scale_values,
                 std::span<const float> mean_values, std::span<const float> variance_values) const;
};

struct FoldedGraph {
  Graph graph; ///< without the parameters and statistics that nobody reads any more
  std::vector<BatchNormFolding> foldings;
};

/// For forward graphs whose batch norms take the running statistics, after fuse: what these do
/// besides (a residual, relu), the convolution does then. A convolution whose result somebody else
/// reads too, or is in `keep`, stays, and so does one that shares its parameters.
FoldedGraph fold_batch_norm(const Graph& evaluation, const std::vector<std::string>& keep = {});

} // namespace troupe::nn
