/// Joins nodes that a device runs as one.
#pragma once

#include "core/graph/graph.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// What a device says it can run.
struct FusePatterns {
  bool batch_norm_relu = false;     ///< batch_norm, relu -> batch_norm {relu}
  bool batch_norm_add_relu = false; ///< batch_norm, add, relu -> batch_norm {add, relu}
  bool matmul_bias = false;         ///< matmul, bias -> matmul with a third input
  /// linear_cross_entropy, linear_cross_entropy_backward -> the latter {loss}: by
  /// fuse_linear_loss.
  bool linear_loss = false;
  /// conv2d, batch_norm -> conv2d {bias, add, relu}: for inference, and by fold_batch_norm alone.
  bool convolution_bias = false;

  /// All but convolution_bias, which is for inference.
  static FusePatterns all() { return {true, true, true, true}; }
  static FusePatterns none() { return {}; }
};

/// For forward graphs, before autodiff. A result that somebody else reads too, or that is in
/// `keep`, stays. The joined node's output has the name of the last one's. Of two batch norms that
/// are added, the later one takes the other as its residual.
Graph fuse(const Graph& forward, const FusePatterns& patterns,
           const std::vector<std::string>& keep = {});

} // namespace troupe::nn
