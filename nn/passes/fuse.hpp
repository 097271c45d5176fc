/// Fuses nodes that a device runs as one.
#pragma once

#include "core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// Patterns that a device supports.
struct FusePatterns {
  bool batch_norm_relu = false;     ///< batch_norm, relu -> batch_norm {relu}
  bool batch_norm_add_relu = false; ///< batch_norm, add, relu -> batch_norm {add, relu}
  bool matmul_bias = false;         ///< matmul, bias -> matmul with a third input
  /// linear_cross_entropy, linear_cross_entropy_backward -> the latter {loss}; fuse_linear_loss
  /// applies it.
  bool linear_loss = false;
  /// conv2d, batch_norm -> conv2d {bias, add, relu}: only for inference, by fold_batch_norm.
  bool convolution_bias = false;

  /// Returns all patterns except convolution_bias, which is for inference.
  static FusePatterns all() { return {true, true, true, true}; }
  static FusePatterns none() { return {}; }
};

/// For forward graphs, before autodiff. Does not fuse a result that has another reader or is in
/// `keep`. The output of the fused node has the name of the last node's output. If two batch norms
/// are added, the later one takes the other as its residual.
Graph fuse(const Graph& forward, const FusePatterns& patterns,
           const std::vector<std::string>& keep = {});

} // namespace troupe::nn
