#include "cpu/onednn/detail/panel_weights.hpp"

#include "core/fail.hpp"
#include "cpu/parallel.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

bool trains(const Graph& graph, TensorId parameter) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return node.op == Op::conv2d_backward_weight && graph[node.outputs[0]].of == parameter;
  });
}

} // namespace

Status PanelWeights::take(Lowering& lowering, TensorId parameter, std::size_t slices) {
  constexpr std::size_t few_slices = 2, large = std::size_t{1} << 20;
  if (trains(lowering.graph, parameter)) {
    each_run_ = slices > few_slices || bytes() < large;
    return {};
  }
  const auto make = [weights = *this](const std::byte* weight, std::byte* copy) {
    weights.pack(reinterpret_cast<const float*>(weight), reinterpret_cast<float*>(copy));
  };
  TROUPE_TRY(copy_, lowering.copy_of(parameter, bytes(), make));
  return {};
}

const float* PanelWeights::panels(const float* weight, std::byte* scratch) const {
  if (copy_)
    return reinterpret_cast<const float*>(copy_->data());
  if (!each_run_)
    return nullptr;
  auto* const panels = reinterpret_cast<float*>(scratch);
  pack(weight, panels);
  return panels;
}

void PanelWeights::pack(const float* weight, float* panels) const {
  constexpr std::size_t panel = PanelKernels::panel;
  const auto whole = matrix(weight);
  parallel_for(PanelKernels::panels_of(columns()), 1, [&](std::size_t begin, std::size_t end) {
    const std::size_t first = begin * panel;
    const std::size_t from = whole.transposed ? first * whole.distance : first;
    kernels().panels.pack({whole.values + from, whole.distance, whole.transposed}, depth(),
                          std::min(end * panel, columns()) - first, panels + first * depth());
  });
}

} // namespace troupe::cpu
