#include "cpu/onednn/detail/panel_products.hpp"
#include "cpu/onednn/detail/tap_grids.hpp"
#include "cpu/parallel.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace troupe::cpu {

namespace {

/// A number of items in parts of nearly the same size.
struct EvenParts {
  std::size_t items, parts;

  std::size_t begin(std::size_t part) const { return items * part / parts; }
  std::size_t size(std::size_t part) const { return begin(part + 1) - begin(part); }
};

/// Parts of at most `most` of `count` channels, in panels.
EvenParts panels(std::size_t count, std::size_t most) {
  return {count / PanelKernels::panel, divide_up(count, most)};
}

/// dweight = dy^T * x, for each tap. Tasks are blocks of dweight, each summed over a share of the
/// pixels; then the shares are added in order. The division depends only on the sizes.
class PanelGradientStep final : public Step {
public:
  PanelGradientStep(const Lowering& lowering, const Node& node, const ConvolutionProblem& p)
      : node_{node}, grids_{p, true}, in_{static_cast<std::size_t>(p.in)},
        out_{static_cast<std::size_t>(p.out)}, inputs_{panels(in_, Kernel::most_channels)},
        outputs_{panels(out_, Kernel::most_channels)}, zeros_(in_) {
    pixels_ = static_cast<std::size_t>(p.batch) * grids_.pixels();
    const std::size_t wanted = divide_up(tasks_wanted, blocks());
    shares_ = std::clamp<std::size_t>(pixels_ / least_pixels, 1, wanted);
    lanes_ = std::min(static_cast<std::size_t>(lowering.options.threads), tasks());
    name = "product backward weights panels";
    operations = p.operations();
  }

  std::size_t scratch_bytes() const override {
    return lanes_ * lane_bytes() + (shares_ - 1) * sums_bytes();
  }

  Status run(const Frame& frame) override {
    parallel_lanes(lanes_, tasks(), [&](std::size_t task, std::size_t lane) {
      sum_block(frame, task, reinterpret_cast<float*>(frame.scratch() + lane * lane_bytes()));
    });
    auto* const dweight = sums_of(frame, 0);
    if (shares_ > 1)
      parallel_for(weights(), elementwise_grain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t share = 1; share < shares_; ++share)
          kernels().add(dweight + begin, sums_of(frame, share) + begin, end - begin);
      });
    return {};
  }

private:
  using Kernel = PanelKernels;
  static constexpr std::size_t unit = Kernel::panel;
  /// Tasks for many threads, and pixels of a share whose sums are worth adding up.
  static constexpr std::size_t tasks_wanted = 16, least_pixels = 2048;

  const TapGrid& grid() const { return grids_.all().front(); }
  std::size_t weights() const { return grid().taps.size() * out_ * in_; }
  std::size_t blocks_of_tap() const { return inputs_.parts * outputs_.parts; }
  std::size_t blocks() const { return grid().taps.size() * blocks_of_tap(); }
  std::size_t tasks() const { return shares_ * blocks(); }
  std::size_t sums_bytes() const { return aligned(weights() * sizeof(float)); }
  static std::size_t lane_bytes() {
    return aligned(Kernel::gradient_scratch_floats * sizeof(float));
  }
  float* sums_of(const Frame& frame, std::size_t share) const {
    return share == 0 ? frame.data<float>(node_.outputs[0])
                      : reinterpret_cast<float*>(frame.scratch() + lanes_ * lane_bytes() +
                                                 (share - 1) * sums_bytes());
  }

  /// Sums a block over a share's pixels, chunk by chunk.
  void sum_block(const Frame& frame, std::size_t task, float* scratch) const {
    const std::size_t share = task / blocks(), index = task % blocks();
    const std::size_t tap = index / blocks_of_tap();
    const EvenParts chunks{pixels_, divide_up(pixels_, Kernel::most_pixels)};
    const EvenParts shares{chunks.parts, shares_};
    auto block = block_of(index % blocks_of_tap());
    block.sums =
        sums_of(frame, share) + (tap * out_ + block.first_output) * in_ + block.first_input;
    std::array<const float*, Kernel::most_pixels> rows{};
    for (std::size_t chunk = shares.begin(share); chunk < shares.begin(share + 1); ++chunk) {
      const std::size_t first = chunks.begin(chunk), count = chunks.size(chunk);
      grids_.read(frame.data<float>(node_.inputs[1]), grid(), grid().taps[tap], first, count,
                  zeros_.data(), rows.data());
      block.x = {rows.data(), count};
      block.dy = frame.data<float>(node_.inputs[0]) + first * out_;
      block.add = chunk > shares.begin(share);
      kernels().panels.gradient(block, scratch);
    }
  }

  /// Returns a block's place in dweight.
  PanelGradient block_of(std::size_t block) const {
    const std::size_t column = block % inputs_.parts, row = block / inputs_.parts;
    const std::size_t input = inputs_.begin(column) * unit, output = outputs_.begin(row) * unit;
    return {.dy_distance = out_,
            .first_input = input,
            .inputs = inputs_.size(column) * unit,
            .first_output = output,
            .outputs = outputs_.size(row) * unit,
            .sums_distance = in_};
  }

  Node node_;
  TapGrids grids_; ///< one grid: the pixels of y
  std::size_t in_, out_, pixels_;
  EvenParts inputs_, outputs_; ///< blocks of dweight, in panels
  std::size_t shares_, lanes_;
  std::vector<float> zeros_; ///< a pixel beyond the images' borders
};

} // namespace

StepPtr lower_panel_gradient(const Lowering& lowering, const Node& node) {
  return std::make_unique<PanelGradientStep>(
      lowering, node, convolution_problem(lowering.graph, node, Direction::backward_weight));
}

} // namespace troupe::cpu
