/// Splits batch norm and fuses the parts with the neighbouring convolutions, like NVIDIA's
/// ResNet-50 of MLPerf Training and the fusion engines of cuDNN 9.
#pragma once

#include "core/graph/graph.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe::nn {

/// A decision whether to fuse nodes, for a log.
struct FusionChoice {
  std::string_view what; ///< "statistics", "mask and sums", "prologue", "max pool", "block's end"
                         ///< or its gradient, "sum of gradients", "mask", "loss"
  const Tensor& at;      ///< result of the convolution or batch norm in question, or the logits
  double fused;          ///< microseconds of all changed nodes
  std::optional<double> apart; ///< empty: the device does not support one of them
  bool taken;
};

/// A device's answers about nodes, which refer to tensors of the graph but need not be in it.
struct FusionSupport {
  /// Returns the microseconds that a node takes; nothing if the device does not support it. Called
  /// for every node that the pass would create or replace, with its shapes, types and attributes.
  /// If empty, nothing is fused.
  std::function<std::optional<double>(const Graph& graph, const Node& node)> microseconds{};
  /// Receives each choice; may be empty.
  std::function<void(const FusionChoice& choice)> chosen{};
};

/// For a training graph after autodiff, with batch_norm {relu} and {add, relu} as `fuse` creates
/// them. For each batch norm that is not synchronized, it applies these steps in order, each if the
/// device supports the new nodes and they take no longer than those they replace:
///
/// - The input comes from a convolution that can compute statistics: batch_norm_finalize computes
///   factor and offset from them, scale_shift applies these. The same scale_shift applies the batch
///   norm of a shortcut that is added here.
/// - With relu and no add, and if only convolutions read the result: each convolution, and each of
///   their weight gradients, applies factor and offset in its prologue, and the result is never
///   stored. batch_norm_finalize writes them in the type of the convolutions' input. A convolution
///   that supports a prologue or statistics, but not both, keeps the statistics.
/// - With relu and no add, and if one conv2d_backward_data in the same unit computes the whole
///   gradient of the result: it masks and reduces (batch_norm_relu), and batch_norm_input_gradient
///   computes the rest.
///
/// Results are equal up to rounding: only the statistics use another formula. Tensors in `keep`
/// stay. Parameters, statistics and gradients are the same tensors as before.
Graph fuse_statistics(const Graph& training, const FusionSupport& support,
                      const std::vector<std::string>& keep = {});

} // namespace troupe::nn
