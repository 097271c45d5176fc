/// Passes that fuse nodes of a training graph, most of them only if the device is then faster.
#pragma once

#include "core/graph/graph.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe::nn {

/// A decision whether to fuse nodes, for a log.
struct FusionChoice {
  std::string_view what; ///< "statistics", "mask and sums", "prologue", "max pool", "block's end"
                         ///< or its gradient, "sum of gradients", "mask", "loss", "add and norm",
                         ///< "narrow ..." for the type of a norm's tensor, "gelu", "gradient of
                         ///< gelu", "bias gradient", "shared weight"
  const Tensor& at;      ///< result of the convolution or norm in question, or the logits
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

/// Splits batch norm and fuses the parts with the neighbouring convolutions, like NVIDIA's
/// ResNet-50 of MLPerf Training and the fusion engines of cuDNN 9.
///
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

/// Fuses a max pooling with the batch norm and ReLU before it, as in a network's stem. Their result
/// is the largest activation of such a network; it is then neither stored nor read.
///
/// For a training graph, after fuse_statistics. Applies if the device takes no more time, and only
/// the pooling reads the result of a batch norm {relu}, or of the scale_shift {relu} that remains
/// of one:
///
/// - max_pool {prologue} reads the batch norm's input. batch_norm_statistics computes factor and
///   offset if no convolution has computed the sums.
/// - batch_norm_backward {pooled} takes the pooling's gradient and index, so that the gradient of
///   the result is not stored either.
///
/// Does not apply to synchronized batch norms. The result is equal up to rounding; tensors in
/// `keep` stay.
Graph fuse_max_pool(const Graph& training, const FusionSupport& support,
                    const std::vector<std::string>& keep = {});

/// Fuses a classifier's loss, its gradient and its count of correct predictions into one kernel.
///
/// For a training graph, after scale_loss. If the device takes no more time, softmax_cross_entropy
/// computes the gradient of its logits itself and does not store its probabilities, which must have
/// no other reader. The count_correct of the same logits is fused, too.
///
/// The result has the same bits on a device that computes as if probabilities were stored. Tensors
/// in `keep` stay.
Graph fuse_loss(const Graph& training, const FusionSupport& support,
                const std::vector<std::string>& keep = {});

/// Fuses the loss of language models with its gradients into one kernel.
///
/// For a training graph, after scale_loss. linear_cross_entropy_backward also computes the loss and
/// replaces linear_cross_entropy, so that the logits are computed once. The result has the same
/// bits. A loss stays if it is in `keep` or a node reads it.
Graph fuse_linear_loss(const Graph& training, const std::vector<std::string>& keep = {});

/// Fuses gelu {tanh} with the matrix products around it: the matmul that computes its input, and
/// the matmul_backward_data that computes the gradient of its output.
///
/// For a training graph. Applies each fusion if the device takes no more time. The matmul still
/// stores gelu's input for backward. Results are equal up to rounding; tensors in `keep` stay.
///
/// `recompute` can no longer recompute gelu's output from its input, only by the whole product.
Graph fuse_gelu(const Graph& training, const FusionSupport& support,
                const std::vector<std::string>& keep = {});

/// Sums the gradient of a linear layer's bias in the product that computes its weight's gradient.
///
/// For a training graph. Applies if the device takes no more time. Results are equal up to the
/// order of sums.
Graph fuse_bias_gradients(const Graph& training, const FusionSupport& support,
                          const std::vector<std::string>& keep = {});

/// Shares a weight with a loss in the type in which the loss multiplies it.
///
/// For a training graph. If only losses read a `share`, and the device takes no more time, the
/// `share` becomes a `cast` to the type of their x. The result has the same bits; tensors in `keep`
/// stay.
Graph narrow_shared_weights(const Graph& training, const FusionSupport& support,
                            const std::vector<std::string>& keep = {});

/// Fuses the ends of residual blocks with the convolutions of the next block that read them. So a
/// block's end is written, and its gradient is read, only once.
///
/// For a training graph after fuse_statistics, which splits batch norms. Applies each fusion if the
/// device supports the new nodes and they take no more time than those they replace:
///
/// - "gradient of a block's end": a convolution reads the output of a batch norm with relu. The
///   output's gradient is the convolution's backward data plus the gradient through the shortcut.
///   conv2d_backward_data adds the shortcut's part, masks and reduces, also for the batch norm of a
///   normalized residual. batch_norm_input_gradient computes the rest, and the residual's gradient
///   is the gradient of the end.
/// - "block's end": the scale_shift {relu} that adds a residual moves into the prologue of a
///   convolution that reads its result. The convolution writes this result, too, and moves to the
///   position of the first reader.
///
/// These nodes belong to the convolution's unit, which may not use the parameters and gradients of
/// the batch norm. So they read copies that batch_norm_finalize writes, and write sums that
/// batch_norm_input_gradient passes on to the gradients. Synchronized batch norms and tensors in
/// `keep` are unchanged.
///
/// Tensors that these nodes read are kept from one unit's forward to another unit's backward, so
/// they cannot be recomputed. Do not apply this pass to graphs for `recompute`.
Graph fuse_block_ends(const Graph& training, const FusionSupport& support,
                      const std::vector<std::string>& keep = {});

/// Reduces memory traffic at ends of residual blocks that no convolution absorbs.
///
/// For a training graph, after fuse_block_ends. If the device takes no more time, a
/// batch_norm_backward {relu, add}
///
/// - sums two contributions to its gradient itself, which replaces `add`;
/// - reads which elements passed relu from a mask that forward writes, not from relu's output: one
///   bit per element instead of two or four bytes.
///
/// The result has the same bits on a device that stores its sums. Tensors in `keep` stay.
Graph finish_block_ends(const Graph& training, const FusionSupport& support,
                        const std::vector<std::string>& keep = {});

/// The additions that fuse_norms may move to a norm.
enum class NormSums : std::uint8_t {
  of_unit,     ///< only those of the norm's unit
  of_any_unit, ///< also the addition that ends the previous unit. Then the norm reads tensors of
               ///< that unit, so do not recompute activations of the result
};

/// Fuses layer_norm and rms_norm of an f32 stream, and their gradients, with the additions and
/// casts around them, so that the stream and its gradient are read and written once per norm.
///
/// For a training graph, after drop_casts. Applies each fusion if the device takes no more time:
///
/// - A norm whose result is only cast writes it in the type of the cast.
/// - The addition that makes the norm's input becomes part of the norm, which also writes the sum.
///   The norm must be the first node that reads the sum. The fused node has the unit of the norm,
///   because it reads the norm's parameters. It reads an addend before a cast to f32.
/// - The norm's gradient reads dy before a cast to f32, adds the other part of the stream's
///   gradient to dx, and writes dx also in the type that a cast gives it.
///
/// The result has the same bits on a device that rounds dx before it adds the other part. Tensors
/// in `keep` stay.
Graph fuse_norms(const Graph& training, const FusionSupport& support, NormSums sums,
                 const std::vector<std::string>& keep = {});

} // namespace troupe::nn
