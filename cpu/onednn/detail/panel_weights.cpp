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

Status PanelWeights::take(Lowering& lowering, TensorId parameter) {
  if (trains(lowering.graph, parameter))
    return {};
  const auto make = [weights = *this](const std::byte* weight, std::byte* copy) {
    weights.pack(reinterpret_cast<const float*>(weight), reinterpret_cast<float*>(copy));
  };
  TROUPE_TRY(copy_, lowering.copy_of(parameter, bytes(), make));
  return {};
}

const float* PanelWeights::panels(const float* weight, std::byte* scratch) const {
  if (copy_)
    return reinterpret_cast<const float*>(copy_->data());
  auto* const panels = reinterpret_cast<float*>(scratch);
  pack(weight, panels);
  return panels;
}

void PanelWeights::pack(const float* weight, float* panels) const {
  constexpr std::size_t panel = PanelKernels::panel;
  parallel_for(PanelKernels::panels_of(columns()), 1, [&](std::size_t begin, std::size_t end) {
    const std::size_t first = begin * panel;
    kernels().panels.pack({weight + (forward_ ? first * in_ : first), in_, forward_}, depth(),
                          std::min(end * panel, columns()) - first, panels + first * depth());
  });
}

} // namespace troupe::cpu
