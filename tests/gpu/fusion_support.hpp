/// Fusion support of a device, without its measured times.
#pragma once

#include "nn/passes/fuse_training.hpp"

#include <utility>

namespace troupe::testing {

/// Returns a cost of 0 for every fusion that runs and is allowed, so that all of them are applied.
inline nn::FusionSupport wherever_it_runs(
    std::function<std::optional<double>(const Graph&, const Node&)> times,
    std::function<bool(const Node&)> allowed = [](const Node&) { return true; }) {
  return {[times = std::move(times), allowed = std::move(allowed)](const Graph& graph,
                                                                   const Node& node) {
    return allowed(node) && times(graph, node) ? std::optional{0.0} : std::nullopt;
  }};
}

/// The operations fused into a convolution, as a rung of the ladder of fusions.
enum class Rung { none, statistics, prologue, mask_and_sums, end, end_gradient };

inline Rung rung_of(const Node& node) {
  const auto* const a = std::get_if<Conv2dAttributes>(&node.attributes);
  if (!a)
    return Rung::none;
  if (a->batch_norm_relu)
    return a->add_gradient || a->residual != Residual::none ? Rung::end_gradient
                                                            : Rung::mask_and_sums;
  if (a->prologue)
    return a->residual != Residual::none ? Rung::end : Rung::prologue;
  return a->statistics ? Rung::statistics : Rung::none;
}

} // namespace troupe::testing
