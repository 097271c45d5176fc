#include "cpu/onednn/detail/panel_products.hpp"

#include "core/fail.hpp"
#include "cpu/onednn/detail/panel_weights.hpp"
#include "cpu/onednn/detail/pixel_slices.hpp"
#include "cpu/onednn/detail/slice_fusion.hpp"

#include <algorithm>
#include <array>

namespace troupe::cpu {

namespace {

constexpr std::size_t most_pixels = PixelSlices::most;

/// y = x * weight^T, or dx = dy * weight: one activation from another, slice by slice.
class PanelProductStep final : public Step, public SliceProducer {
public:
  PanelProductStep(const Lowering& lowering, const Node& node, const ConvolutionProblem& problem,
                   bool forward)
      : node_{node}, places_{PixelPlaces::of(problem)},
        weights_{lowering.graph[node.inputs[1]].shape, forward}, forward_{forward},
        slices_{static_cast<std::size_t>(problem.batch), places_.pixels(),
                Columns{lowering.graph[node.outputs[0]].shape}, scatters(),
                lowering.options.threads} {
    name = forward ? "product panels" : "product backward data panels";
    operations = problem.operations();
  }

  Status take_weights(Lowering& lowering) { return weights_.take(lowering, node_.inputs[1]); }

  bool writes_slices() const override { return slices_.even(); }
  std::size_t scratch_bytes() const override {
    return weights_.scratch_bytes() + slices_.workers() * result_bytes();
  }

  Status run(const Frame& frame) override {
    const auto* const panels = weights_.panels(frame.data<float>(node_.inputs[1]), frame.scratch());
    const std::size_t parts = scatters() ? 1 : slices_.parts();
    begin_consumers(frame, slices_.workers());
    slices_.for_parts(
        parts, [&](std::size_t begin, std::size_t end, std::size_t part, std::size_t worker) {
          const auto columns = part_of_columns(part, parts);
          for (std::size_t first = begin, count = 0; first < end; first += count) {
            count = PixelSlices::next_block(end - first);
            multiply(frame, panels, {first, count}, columns, worker);
          }
          hand_on(frame, worker, written(begin), written(end));
        });
    return {};
  }

private:
  bool scatters() const { return !forward_ && places_.stride > 1; }
  /// Bytes of a block of results that are then scattered.
  std::size_t result_bytes() const {
    return scatters() ? most_pixels * weights_.columns() * sizeof(float) : 0;
  }
  /// Offsets of pixels in the tensors that are read and written.
  std::size_t read(std::size_t pixel) const {
    return forward_ ? places_.offset(pixel) : pixel * weights_.depth();
  }
  std::size_t written(std::size_t pixel) const {
    return forward_ ? pixel * weights_.columns() : places_.offset(pixel);
  }

  struct Range {
    std::size_t first, count;
  };
  /// A part of the columns, in whole panels.
  Range part_of_columns(std::size_t part, std::size_t parts) const {
    const std::size_t panels = PanelKernels::panels_of(weights_.columns());
    const std::size_t first = panels * part / parts * PanelKernels::panel;
    const std::size_t end = panels * (part + 1) / parts * PanelKernels::panel;
    return {first, std::min(end, weights_.columns()) - std::min(first, weights_.columns())};
  }

  void multiply(const Frame& frame, const float* panels, const Range& pixels, const Range& columns,
                std::size_t worker) const {
    const auto* const from = frame.data<float>(node_.inputs[0]);
    std::array<const float*, most_pixels> rows{};
    for (std::size_t i = 0; i < pixels.count; ++i)
      rows[i] = from + read(pixels.first + i);
    auto* const to = frame.data<float>(node_.outputs[0]);
    auto* const result = scatters()
                             ? reinterpret_cast<float*>(frame.scratch() + weights_.scratch_bytes() +
                                                        worker * result_bytes())
                             : to + written(pixels.first);
    kernels().panels.multiply({.left = {rows.data(), pixels.count},
                               .depth = weights_.depth(),
                               .columns = columns.count,
                               .panels = panels + columns.first * weights_.depth(),
                               .result = result + columns.first,
                               .result_distance = weights_.columns()});
    if (scatters())
      scatter(result, to, pixels);
  }

  /// Writes pixels to their places, and zeros between them.
  void scatter(const float* result, float* to, const Range& pixels) const {
    const std::size_t end = pixels.first + pixels.count;
    for (std::size_t i = pixels.first; i < end; ++i, result += weights_.columns()) {
      float* const pixel = to + written(i);
      std::copy_n(result, weights_.columns(), pixel);
      std::fill(pixel + weights_.columns(), to + written(i + 1), 0.0f);
    }
  }

  Node node_;
  PixelPlaces places_; ///< of x or dx
  PanelWeights weights_;
  bool forward_;
  PixelSlices slices_;
};

} // namespace

bool suits_panels(const Lowering& lowering, const Node& node, Direction direction) {
  const bool gradient = direction == Direction::backward_weight;
  const auto weight = gradient ? lowering.graph[node.outputs[0]].of : node.inputs[1];
  const auto plain = plain_weights(lowering.graph[weight].shape, DType::f32);
  return lowering.graph[node.inputs[0]].dtype == DType::f32 && lowering.stored(weight) == plain;
}

Result<StepPtr> lower_panel_product(Lowering& lowering, const Node& node, Direction direction) {
  if (direction == Direction::backward_weight)
    return lower_panel_gradient(lowering, node);
  auto step = std::make_unique<PanelProductStep>(
      lowering, node, convolution_problem(lowering.graph, node, direction),
      direction == Direction::forward);
  TROUPE_TRY(step->take_weights(lowering));
  return step;
}

} // namespace troupe::cpu
