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

PanelWeights::PanelWeights(const Shape& weight, const TapGrids& grids, bool forward)
    : out_{weight.size(0)}, in_{weight.size(1)}, forward_{forward} {
  std::size_t floats = 0;
  for (const auto& grid : grids.all()) {
    Matrix matrix{{}, floats};
    for (const auto& tap : grid.taps)
      matrix.taps.push_back(tap.weight);
    floats += grid.taps.size() * depth() * columns();
    matrices_.push_back(std::move(matrix));
  }
  bytes_ = aligned(floats * sizeof(float));
}

Status PanelWeights::take(Lowering& lowering, TensorId parameter) {
  if (trains(lowering.graph, parameter))
    return {};
  const auto make = [weights = *this](const std::byte* weight, std::byte* copy) {
    weights.pack(reinterpret_cast<const float*>(weight), reinterpret_cast<float*>(copy));
  };
  TROUPE_TRY(copy_, lowering.copy_of(parameter, bytes_, make));
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
  parallel_for(columns() / PanelKernels::panel, 1, [&](std::size_t begin, std::size_t end) {
    for (const auto& matrix : matrices_)
      pack_panels(matrix, weight, begin, end, panels + matrix.offset);
  });
}

void PanelWeights::pack_panels(const Matrix& matrix, const float* weight, std::size_t begin,
                               std::size_t end, float* panels) const {
  constexpr std::size_t panel = PanelKernels::panel;
  const std::size_t first = begin * panel, count = (end - begin) * panel;
  const std::size_t depth_of_all = matrix.taps.size() * depth();
  float* to = panels + first * depth_of_all;
  for (const auto tap : matrix.taps) {
    const float* const from = weight + tap * out_ * in_ + (forward_ ? first * in_ : first);
    kernels().panels.pack({from, in_, forward_}, depth(), count, to, depth_of_all);
    to += depth() * panel;
  }
}

dnnl::memory::desc tap_weights(const Shape& weight) {
  const auto& size = weight.dims;
  if (size[2] == 1)
    return plain_weights(weight, DType::f32);
  const auto plane = size[0] * size[1];
  return {{size[0], size[1], size[2], size[3]},
          dnnl::memory::data_type::f32,
          dnnl::memory::dims{size[1], 1, size[3] * plane, plane}};
}

} // namespace troupe::cpu
