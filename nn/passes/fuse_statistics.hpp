/// Takes batch norm apart and joins the parts with the convolutions around it, after NVIDIA's
/// ResNet-50 of MLPerf Training and the fusion engines of cuDNN 9.
#pragma once

#include "core/graph/graph.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe::nn {

/// Whether nodes were joined, for a log.
struct FusionChoice {
  std::string_view what; ///< "statistics", "mask and sums", "prologue", "max pool", "block's end"
                         ///< or its gradient, "sum of gradients", "mask", "loss"
  const Tensor& at;      ///< the result of the convolution or batch norm in question, or the logits
  double fused;          ///< microseconds of all nodes that would change
  std::optional<double> apart; ///< nothing: the device does not run one of them
  bool taken;
};

/// What a device says of nodes, which refer to tensors of the graph but need not be in it.
struct FusionSupport {
  /// Microseconds that it takes for a node, nothing where it does not run it. Asked about every
  /// node that the pass would make or replace, with its shapes, types and attributes. Empty: fuse
  /// nothing.
  std::function<std::optional<double>(const Graph& graph, const Node& node)> microseconds{};
  /// Told of each choice; may be empty.
  std::function<void(const FusionChoice& choice)> chosen{};
};

/// For a training graph after autodiff; batch_norm {relu} and {add, relu} as `fuse` makes them.
/// For each batch norm that is not synchronized, as far as the device goes, and where the nodes
/// that are made take no longer than those they replace, one step after the other:
///
/// - Its input comes from a convolution that can give statistics: batch_norm_finalize makes factor
///   and offset of them, scale_shift applies these. The batch norm of a shortcut that is added here
///   is applied in the same scale_shift.
/// - relu, no add, and convolutions alone read the result: each of them, and each of their weight
///   gradients, applies factor and offset in its prologue, and the result is never stored;
///   batch_norm_finalize gives them in its type. A convolution that can have a prologue or
///   statistics, but not both, keeps the statistics.
/// - relu, no add, and one conv2d_backward_data in the same unit makes the whole gradient of the
///   result: it masks and reduces (batch_norm_relu), and batch_norm_input_gradient does the rest.
///
/// Results are the same up to rounding: what is computed is the same, statistics by another
/// formula. What is in `keep` stays. Parameters, statistics and gradients are the same tensors as
/// before.
Graph fuse_statistics(const Graph& training, const FusionSupport& support,
                      const std::vector<std::string>& keep = {});

} // namespace troupe::nn
