/// The update of one element, shared by every device. Definitions: PyTorch's SGD, Adam and AdamW
/// (torch.optim, version 2); Sutskever et al. 2013 for Nesterov; Loshchilov & Hutter 2019 for
/// AdamW.
#pragma once

#include "core/config/optimizer_kind.hpp"
#include "core/graph/tensor.hpp"
#include "core/host_and_device.hpp"

#include <cmath>
#include <cstdint>

namespace troupe {

/// Hyperparameters of one optimizer step, the same for every element.
struct OptimizerArguments {
  OptimizerKind kind = OptimizerKind::sgd;
  float lr = 0.1f;
  float momentum = 0.0f;                           ///< sgd
  float dampening = 0.0f;                          ///< sgd
  bool nesterov = false;                           ///< sgd
  float weight_decay = 0.0f;                       ///< L2 for sgd and adam, decoupled for adamw
  float beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f; ///< adam, adamw
  std::int64_t step = 1;                           ///< 1 for the first update
  // Applied to each gradient before the update, in this order.
  float gradient_scale = 1.0f; ///< factor: averaging, unscaling
  float clip_value = INFINITY; ///< then limits the magnitude: torch.nn.utils.clip_grad_value_
  float clip_factor = 1.0f;    ///< then a factor: troupe::clip_factor
  /// Type whose values parameters and state hold. Results are computed in f32 and rounded when they
  /// are stored, as PyTorch's fused optimizers do with f16 and bf16. The kernels round; the updates
  /// below do not.
  DType stored = DType::f32;

  /// Number of fp32 state values per parameter: 0, 1 (momentum) or 2 (moments).
  int state_slots() const { return kind == OptimizerKind::sgd ? (momentum != 0.0f ? 1 : 0) : 2; }
};

/// Returns a gradient as the global norm sees it: averaged, unscaled, clipped by value. NaN stays
/// NaN.
TROUPE_HOST_DEVICE inline float clipped_by_value(const OptimizerArguments& a, float gradient) {
  const float scaled = gradient * a.gradient_scale;
  const float from_below = -a.clip_value > scaled ? -a.clip_value : scaled;
  return from_below > a.clip_value ? a.clip_value : from_below;
}

/// Returns the factor of gradients for clipping by the global norm: torch.nn.utils.clip_grad_norm_.
TROUPE_HOST_DEVICE inline float clip_factor(double squared_norm, float max_norm) {
  const double factor = max_norm / (std::sqrt(squared_norm) + 1e-6);
  return factor < 1.0 ? static_cast<float>(factor) : 1.0f;
}

TROUPE_HOST_DEVICE inline float clipped(const OptimizerArguments& a, float gradient) {
  return clipped_by_value(a, gradient) * a.clip_factor;
}

/// Writes `velocity` on the first step and reads it on later ones. Pass a dummy if momentum is 0.
TROUPE_HOST_DEVICE inline void sgd_update(const OptimizerArguments& a, float& parameter,
                                          float gradient, float& velocity) {
  float g = clipped(a, gradient) + a.weight_decay * parameter;
  if (a.momentum != 0.0f) {
    velocity = a.step == 1 ? g : a.momentum * velocity + (1.0f - a.dampening) * g;
    g = a.nesterov ? g + a.momentum * velocity : velocity;
  }
  parameter -= a.lr * g;
}

/// Bias corrections, computed once per step in double and not per element.
struct AdamCorrections {
  float step_size;       ///< lr / (1 - beta1^t)
  float second_root_inv; ///< 1 / sqrt(1 - beta2^t)
};

TROUPE_HOST_DEVICE inline AdamCorrections adam_corrections(const OptimizerArguments& a) {
  const double t = static_cast<double>(a.step);
  return {static_cast<float>(a.lr / (1.0 - std::pow(static_cast<double>(a.beta1), t))),
          static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(static_cast<double>(a.beta2), t)))};
}

TROUPE_HOST_DEVICE inline void adam_update(const OptimizerArguments& a, const AdamCorrections& c,
                                           float& parameter, float gradient, float& first,
                                           float& second) {
  float g = clipped(a, gradient);
  if (a.kind == OptimizerKind::adamw)
    parameter *= 1.0f - a.lr * a.weight_decay;
  else
    g += a.weight_decay * parameter;
  first = a.beta1 * first + (1.0f - a.beta1) * g;
  second = a.beta2 * second + (1.0f - a.beta2) * g * g;
  parameter -= c.step_size * first / (std::sqrt(second) * c.second_root_inv + a.eps);
}

} // namespace troupe
