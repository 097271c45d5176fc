#include "cpu/onednn/detail/panel_products.hpp"

#include "core/fail.hpp"
#include "cpu/onednn/detail/panel_weights.hpp"
#include "cpu/onednn/detail/pixel_slices.hpp"
#include "cpu/onednn/detail/slice_fusion.hpp"

#include <algorithm>
#include <vector>

namespace troupe::cpu {

namespace {

constexpr std::size_t most_pixels = PixelSlices::most;

/// Slices of the result. Those of several grids have whole rows of each, and enough pixels.
PixelSlices slices_of(const ConvolutionProblem& p, const TapGrids& grids, const Shape& written,
                      int threads) {
  const std::size_t spread = grids.spread(), unit = spread > 1 ? spread * grids.width() : 1;
  return {static_cast<std::size_t>(p.batch),
          grids.pixels(),
          Columns{written},
          unit,
          spread * spread,
          threads};
}

/// y = x * weight^T, or dx = dy * weight, for each tap: one activation from another, slice by
/// slice.
class PanelProductStep final : public Step, public SliceProducer {
public:
  PanelProductStep(const Lowering& lowering, const Node& node, const ConvolutionProblem& problem,
                   bool forward)
      : node_{node}, grids_{problem, forward}, weights_{lowering.graph[node.inputs[1]].shape,
                                                        grids_, forward},
        slices_{slices_of(problem, grids_, lowering.graph[node.outputs[0]].shape,
                          lowering.options.threads)},
        zeros_(weights_.depth()) {
    name = forward ? "product panels" : "product backward data panels";
    operations = problem.operations();
  }

  Status take_weights(Lowering& lowering) { return weights_.take(lowering, node_.inputs[1]); }

  bool writes_slices() const override { return slices_.even(); }
  std::size_t scratch_bytes() const override {
    return weights_.scratch_bytes() + slices_.workers() * (rows_bytes() + result_bytes());
  }

  Status run(const Frame& frame) override {
    const auto* const panels = weights_.panels(frame.data<float>(node_.inputs[1]), frame.scratch());
    const std::size_t parts = slices_.parts();
    begin_consumers(frame, slices_.workers());
    slices_.for_parts(
        parts, [&](std::size_t begin, std::size_t end, std::size_t part, std::size_t worker) {
          for (std::size_t grid = 0; grid < grids_.all().size(); ++grid)
            run_grid(frame, {grid, panels + weights_.offset(grid), part_of_columns(part, parts)},
                     {begin, end}, worker);
          hand_on(frame, worker, begin * weights_.columns(), end * weights_.columns());
        });
    return {};
  }

private:
  struct Range {
    std::size_t first, end;
    std::size_t count() const { return end - first; }
  };
  /// Products for the pixels of a grid.
  struct GridPart {
    std::size_t grid;
    const float* panels; ///< of all columns
    Range columns;
  };

  bool scatters() const { return grids_.spread() > 1; }
  std::size_t rows_bytes() const {
    return aligned(grids_.most_taps() * most_pixels * sizeof(const float*));
  }
  /// Bytes of a block of results that are then scattered.
  std::size_t result_bytes() const {
    return scatters() ? aligned(most_pixels * weights_.columns() * sizeof(float)) : 0;
  }

  /// A part of the columns, in whole panels.
  Range part_of_columns(std::size_t part, std::size_t parts) const {
    const std::size_t panels = weights_.columns() / PanelKernels::panel;
    const auto begin = [&](std::size_t which) {
      return panels * which / parts * PanelKernels::panel;
    };
    return {begin(part), begin(part + 1)};
  }

  /// `slice`: pixels of the result.
  void run_grid(const Frame& frame, const GridPart& part, const Range& slice,
                std::size_t worker) const {
    const auto& grid = grids_.all()[part.grid];
    const std::size_t end = grids_.before(grid, slice.end);
    for (std::size_t first = grids_.before(grid, slice.first), count = 0; first < end;
         first += count) {
      count = PixelSlices::next_block(end - first);
      if (grid.taps.empty())
        clear(frame, grid, {first, first + count}, part.columns);
      else
        multiply(frame, part, {first, first + count}, worker);
    }
  }

  float* pixel(const Frame& frame, const TapGrid& grid, std::size_t index) const {
    return frame.data<float>(node_.outputs[0]) + grids_.written(grid, index) * weights_.columns();
  }

  void clear(const Frame& frame, const TapGrid& grid, const Range& pixels,
             const Range& columns) const {
    for (std::size_t i = pixels.first; i < pixels.end; ++i)
      std::fill_n(pixel(frame, grid, i) + columns.first, columns.count(), 0.0f);
  }

  /// `pixels`: of the grid.
  void multiply(const Frame& frame, const GridPart& part, const Range& pixels,
                std::size_t worker) const {
    const auto& grid = grids_.all()[part.grid];
    std::byte* const own =
        frame.scratch() + weights_.scratch_bytes() + worker * (rows_bytes() + result_bytes());
    auto** const rows = reinterpret_cast<const float**>(own);
    for (std::size_t tap = 0; tap < grid.taps.size(); ++tap)
      grids_.read(frame.data<float>(node_.inputs[0]), grid, grid.taps[tap], pixels.first,
                  pixels.count(), zeros_.data(), rows + tap * pixels.count());
    auto* const result = scatters() ? reinterpret_cast<float*>(own + rows_bytes())
                                    : pixel(frame, grid, pixels.first);
    kernels().panels.multiply(
        {.left = {rows, pixels.count()},
         .taps = grid.taps.size(),
         .depth = weights_.depth(),
         .columns = part.columns.count(),
         .panels = part.panels + part.columns.first * grid.taps.size() * weights_.depth(),
         .result = result + part.columns.first,
         .result_distance = weights_.columns()});
    for (std::size_t i = 0; scatters() && i < pixels.count(); ++i)
      std::copy_n(result + i * weights_.columns() + part.columns.first, part.columns.count(),
                  pixel(frame, grid, pixels.first + i) + part.columns.first);
  }

  Node node_;
  TapGrids grids_;
  PanelWeights weights_;
  PixelSlices slices_;
  std::vector<float> zeros_; ///< a pixel beyond the images' borders
};

constexpr std::int64_t panel = PanelKernels::panel;

/// Below this depth of a tap, the library's direct convolutions are faster.
constexpr std::int64_t least_channels = 64;

} // namespace

bool suits_panels(const ConvolutionProblem& p) {
  const bool whole_panels = p.in % panel == 0 && p.out % panel == 0;
  const bool wide = p.in >= least_channels && p.out >= least_channels;
  return p.activations == DType::f32 && whole_panels && (p.kernel == 1 ? p.padding == 0 : wide);
}

bool runs_on_panels(const Lowering& lowering, const Node& node, Direction direction) {
  const bool gradient = direction == Direction::backward_weight;
  const auto weight = gradient ? lowering.graph[node.outputs[0]].of : node.inputs[1];
  return !std::get<Conv2dAttributes>(node.attributes).bias &&
         suits_panels(convolution_problem(lowering.graph, node, direction)) &&
         lowering.stored(weight) == tap_weights(lowering.graph[weight].shape);
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
