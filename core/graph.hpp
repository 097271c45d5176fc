/// The graph: a model as data. Tensors with static shapes, and nodes in an order in which they can
/// run.
///
/// The types live in core/ because devices compile them and nn/ builds and rewrites them (ADR
/// 0001). Passes are pure functions Graph -> Graph in nn/passes/.
#pragma once

#include "tensor.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

using TensorId = std::int32_t;
using UnitId = std::int32_t;

/// Inputs -> outputs of each op. Images are NHWC. "saved" tensors are kept from forward to
/// backward.
enum class Op : std::uint8_t {
  conv2d,     ///< x, weight [, factor, offset when prologue] ->
              ///<   y [, sum, sum_of_squares when statistics]           (Conv2dAttributes)
  batch_norm, ///< x, scale, shift, running_mean, running_var [, residual] ->
              ///<   y [, saved_mean, saved_inv_std] when training        (BatchNormAttributes)
  batch_norm_finalize,   ///< sum, sum_of_squares, scale, shift, running_mean, running_var ->
                         ///<   saved_mean, saved_inv_std, factor, offset, all (C) f32:
                         ///<   factor = scale * saved_inv_std, offset = shift - mean * factor;
                         ///<   updates the running statistics        (FinalizeAttributes)
  scale_shift,           ///< x, factor (C), offset (C) [, residual [, its factor, its offset]] ->
                         ///<   y = x * factor + offset [+ residual [* its factor + its offset]],
                         ///<   clipped at 0 when relu                 (ScaleShiftAttributes)
  relu,                  ///< x -> y
  add,                   ///< a, b -> y
  max_pool,              ///< x -> y, saved index (i32: position inside the window) (PoolAttributes)
  avg_pool,              ///< x -> y                                                (PoolAttributes)
  subsample_pad,         ///< x -> y: every stride-th pixel, channels zero-padded on both sides; the
                         ///<   parameter-free shortcut (option A) of He et al. 2015
                         ///<   (SubsamplePadAttributes)
  flatten,               ///< x (N, ...) -> y (N, rest), in NHWC order
  matmul,                ///< x (N, in), weight (out, in) [, bias (out)] -> y (N, out)
  bias,                  ///< x (N, C), bias (C) -> y
  cast,                  ///< x -> y of another dtype
  softmax_cross_entropy, ///< logits (N, C), labels (N; negative: ignored) -> loss (scalar, mean
                         ///< over
                         ///<   the labels not ignored), saved probabilities (N, C) (LossAttributes)
  mean_squared_error,    ///< prediction (N, C), target -> loss (scalar, mean over all elements);
                         ///<   target: (N, C) f32, or labels (N) i32 that stand for one-hot rows
                         ///<   (negative: ignored, as above)           (LossAttributes)
  count_correct, ///< logits (N, C), labels (N) -> scalar: rows whose largest logit is the label
  // Backward ops, made by autodiff.
  conv2d_backward_data,   ///< dy, weight -> dx (Conv2dAttributes). With batch_norm_relu:
                          ///<   dy, weight, x, scale, shift, saved_mean, saved_inv_std ->
                          ///<   dz, dscale, dshift, dy_factor, x_factor, offset, where relu and,
                          ///<   before it, batch norm of x made this convolution's input: dz is dx
                          ///<   where that relu let x pass, else 0; dscale, dshift are sums of dz;
                          ///<   the last three are for batch_norm_input_gradient. All but dz: (C)
                          ///<   f32, C the channels of x
  conv2d_backward_weight, ///< dy, x [, factor, offset when prologue] -> dweight (Conv2dAttributes)
  batch_norm_backward,    ///< dy, x, scale, saved_mean, saved_inv_std [, y when relu; or factor,
                          ///<   offset when relu without add: what was clipped is found from x] ->
                          ///<   dx, dscale, dshift [, dresidual when add] (BatchNormAttributes)
  batch_norm_input_gradient, ///< dy, x, dy_factor (C), x_factor (C), offset (C) ->
                             ///<   dx = dy * dy_factor + x * x_factor + offset
  relu_backward,             ///< dy, y -> dx
  max_pool_backward, ///< dy, saved index -> dx                                 (PoolAttributes)
  avg_pool_backward, ///< dy -> dx                                              (PoolAttributes)
  subsample_pad_backward,         ///< dy -> dx (SubsamplePadAttributes)
  unflatten,                      ///< dy (N, rest) -> dx (N, ...)
  matmul_backward_data,           ///< dy, weight -> dx
  matmul_backward_weight,         ///< dy, x -> dweight
  bias_backward,                  ///< dy -> dbias: sum over rows
  softmax_cross_entropy_backward, ///< saved probabilities, labels [, loss_scale] ->
                                  ///<   dlogits, times the loss scale (LossAttributes)
  mean_squared_error_backward,    ///< prediction, target [, loss_scale] -> dprediction, likewise
  normalize, ///< x, scale, shift, saved_mean, saved_inv_std [, residual] -> y: the bits that
             ///<   batch_norm of x gave, made again by nn/passes/recompute. It counts no
             ///<   statistics a second time                               (BatchNormAttributes)
};

std::string_view to_string(Op op);

struct Conv2dAttributes {
  std::int64_t kernel = 3, stride = 1, padding = 1;
  /// So many last channels of x have no weight. They are zero, and a device may or may not read
  /// them. Images alone are padded (nn/passes/format_input), so no dx is ever asked for.
  std::int64_t padded_channels = 0;
  /// What is convolved is relu(x * factor + offset), factor and offset (C) f32, rounded to x's
  /// dtype: batch norm and ReLU on the way in. The border's padding is 0 after that.
  bool prologue = false;
  /// Also gives sum and sum_of_squares (O) f32 of y over N, H and W. The interpreter sums what is
  /// stored; a device may sum before it rounds y.
  bool statistics = false;
  bool batch_norm_relu = false; ///< conv2d_backward_data alone
  bool operator==(const Conv2dAttributes&) const = default;
};

struct BatchNormAttributes {
  float eps = 1e-5f;
  float momentum =
      0.1f; ///< running = (1 - momentum) * running + momentum * batch (unbiased variance)
  bool training = true; ///< batch statistics, else the running ones
  bool relu = false;    ///< fused: y = relu(...)
  bool add = false;     ///< fused: the residual input is added before relu
  /// Training: statistics of all ranks' values, where ranks can be summed over
  /// (Executable::bind_sum_over_ranks). Op::normalize takes them as they were saved.
  bool synchronized = false;
  bool operator==(const BatchNormAttributes&) const = default;
};

struct FinalizeAttributes {
  float eps = 1e-5f, momentum = 0.1f; ///< as BatchNormAttributes
  std::int64_t count = 0;             ///< values per channel that were summed
  bool operator==(const FinalizeAttributes&) const = default;
};

struct ScaleShiftAttributes {
  bool relu = false;
  bool operator==(const ScaleShiftAttributes&) const = default;
};

struct PoolAttributes {
  std::int64_t kernel_h = 2, kernel_w = 2, stride = 2, padding = 0; ///< averages count padding out
  bool operator==(const PoolAttributes&) const = default;
};

struct SubsamplePadAttributes {
  std::int64_t stride = 2, pad_before = 0, pad_after = 0;
  bool operator==(const SubsamplePadAttributes&) const = default;
};

struct LossAttributes {
  float label_smoothing = 0.0f; ///< softmax_cross_entropy alone
  /// What sums over rows are divided by, instead of by how many rows have a label; 0: by those.
  double rows = 0;
  bool operator==(const LossAttributes&) const = default;
};

using Attributes =
    std::variant<std::monostate, Conv2dAttributes, BatchNormAttributes, FinalizeAttributes,
                 ScaleShiftAttributes, PoolAttributes, SubsamplePadAttributes, LossAttributes>;

enum class Role : std::uint8_t {
  input,      ///< the batch's images: f32, or the compute type (nn/passes/format_input)
  target,     ///< the batch's labels (i32) or regression targets (f32)
  parameter,  ///< learned; fp32 master in the unit's flat buffer
  statistic,  ///< updated by forward, not by gradients: running mean and variance, fp32
  activation, ///< lives in the arena
  gradient,   ///< of a parameter, fp32 in the unit's flat gradient buffer
  output,     ///< a scalar that the host reads: loss, correct
  loss_scale, ///< f32 scalar in device memory (Executable::bind_loss_scale, core/loss_scale.hpp)
};

struct Tensor {
  std::string name; ///< parameters and statistics: PyTorch's name ("layer1.0.conv1.weight"); unique
  Shape shape;
  DType dtype = DType::f32;
  Role role = Role::activation;
  UnitId unit = 0;
  TensorId of = -1; ///< role gradient: the parameter
};

enum class Phase : std::uint8_t { forward, backward };

struct Node {
  Op op;
  std::vector<TensorId> inputs, outputs;
  Attributes attributes = {};
  Phase phase = Phase::forward;
  UnitId unit = 0;
};

/// Whether it takes sums over all ranks: a batch norm, forward or backward.
bool is_synchronized(const Node& node);

/// Nodes are topologically ordered; within a phase, the nodes of a unit stand together. Forward
/// runs units 0, 1, ...; backward runs them from the last to the first.
struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<std::string> units; ///< names, by UnitId

  TensorId add_tensor(Tensor tensor);
  Node& add_node(Node node);
  const Tensor& operator[](TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
  Tensor& operator[](TensorId id) { return tensors[static_cast<std::size_t>(id)]; }
  std::optional<TensorId> find(std::string_view name) const;
  /// All tensors of a role, in order of creation.
  std::vector<TensorId> with_role(Role role) const;
  /// One line a node: for people, logs and tests.
  std::string to_string() const;
};

/// Where activations lie in one arena: made by nn/passes/plan_memory, obeyed by devices.
struct MemoryPlan {
  static constexpr std::size_t not_in_arena = static_cast<std::size_t>(-1);
  std::vector<std::size_t>
      offsets; ///< bytes, by TensorId; not_in_arena for roles that live elsewhere
  std::size_t arena_bytes = 0;
  /// By TensorId: whether the tensor is still there after the last node. Empty: none is.
  std::vector<bool> kept;
};

} // namespace troupe
