/// A device's fusions without its times.
#pragma once

#include "nn/passes/fuse_statistics.hpp"

#include <utility>

namespace troupe::testing {

/// Whatever runs and is allowed costs nothing, so that all of it is fused that can be.
inline nn::FusionSupport wherever_it_runs(
    std::function<std::optional<double>(const Graph&, const Node&)> times,
    std::function<bool(const Node&)> allowed = [](const Node&) { return true; }) {
  return {[times = std::move(times), allowed = std::move(allowed)](const Graph& graph,
                                                                   const Node& node) {
    return allowed(node) && times(graph, node) ? std::optional{0.0} : std::nullopt;
  }};
}

/// What is joined to a convolution, as a rung of the ladder of fusions; none: nothing.
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
