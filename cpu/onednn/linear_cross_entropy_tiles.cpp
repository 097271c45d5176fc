// The loss of language models in bf16, for processors with tiles: processes a chunk of rows at a
// time. Threads divide its classes into blocks. Every block contributes to the sums and to the
// rows' gradients, so each thread has its own sums and gradients.
#include "cpu/onednn/detail/head_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace troupe::cpu {

namespace {

/// Divides classes into blocks: a whole number for each lane.
class ClassBlocks {
  static constexpr std::size_t tile_classes = 32;

public:
  ClassBlocks(std::size_t classes, std::size_t threads) : classes_{classes} {
    const std::size_t fewest = divide_up(classes, LogitKernels::most_classes);
    lanes_ = std::min(threads, divide_up(classes, tile_classes));
    const std::size_t parts = divide_up(fewest, lanes_) * lanes_;
    size_ = divide_up(divide_up(classes, parts), tile_classes) * tile_classes;
    parts_ = divide_up(classes, size_);
    lanes_ = std::min(lanes_, parts_);
  }

  std::size_t lanes() const { return lanes_; }
  std::size_t parts() const { return parts_; }
  bool is_first_of_lane(std::size_t part, std::size_t lane) const {
    return part == parts_ * lane / lanes_;
  }
  LogitBlock block(std::size_t part, const float* weight, std::size_t width) const {
    const std::size_t first = part * size_;
    return {first, std::min(size_, classes_ - first), weight + first * width};
  }

private:
  std::size_t classes_, lanes_, size_, parts_;
};

/// Partial results of lanes, by lane and row.
class LogitLanes {
public:
  LogitLanes(std::size_t lanes, std::size_t rows)
      : rows_{divide_up(rows, LogitKernels::row_block) * LogitKernels::row_block}, lanes_{lanes},
        values_(4 * lanes * rows_) {}

  void begin() {
    std::fill(values_.begin(), values_.end(), 0.0f);
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      std::fill_n(of(lane).most, rows_, -std::numeric_limits<float>::max());
  }
  LogitSums of(std::size_t lane) {
    float* const first = values_.data() + 4 * lane * rows_;
    return {first, first + rows_, first + 2 * rows_, first + 3 * rows_};
  }
  /// Returns the logarithm of the sum of all exponentials of a row.
  double total(std::size_t row) {
    float most = of(0).most[row];
    for (std::size_t lane = 1; lane < lanes_; ++lane)
      most = std::max(most, of(lane).most[row]);
    double sum = 0;
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      sum +=
          double{of(lane).exponentials[row]} * std::exp(double{of(lane).most[row]} - double{most});
    return double{most} + std::log(sum);
  }
  double sum(std::size_t row, float* LogitSums::*values) {
    double sum = 0;
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      sum += double{(of(lane).*values)[row]};
    return sum;
  }

private:
  std::size_t rows_, lanes_;
  std::vector<float> values_;
};

/// Rows that are packed, and whose gradients are summed, in a core's caches.
constexpr std::size_t most_rows = 1024;

class HeadByTiles final : public Step {
public:
  HeadByTiles(const Lowering& lowering, const Node& node, bool backward)
      : node_{node}, head_{lowering.graph, node}, blocks_{head_.classes(),
                                                          static_cast<std::size_t>(
                                                              lowering.options.threads)},
        backward_{backward}, rows_{std::min(head_.rows(), most_rows)}, sums_{blocks_.lanes(),
                                                                             rows_} {
    name = to_string(node.op);
    operations = head_.operations(backward ? 3 : 1);
  }

  /// Bytes of the packed rows, and for each lane its scratch and a packed dx.
  std::size_t scratch_bytes() const override {
    return packed_bytes() +
           blocks_.lanes() * (lane_bytes() + (backward_ ? dx_floats() * sizeof(float) : 0));
  }

  Status run(const Frame& frame) override {
    TROUPE_TRY(const auto count, head_.counted(frame));
    if (backward_)
      share_ = head_.share(frame, count);
    head_.begin();
    for_rows(frame, [&](const LossRows& rows, std::size_t first) {
      if (!backward_)
        return add_losses(frame, rows, first, [&](std::size_t row, float total) {
          head_.totals(frame)[first + row] = total;
        });
      set_rows(frame, rows, first);
      multiply(frame, rows, first);
    });
    if (!backward_ || head_.given_by_backward())
      head_.write(frame, count);
    return {};
  }

private:
  /// Calls work(rows, index of the first) for a chunk of packed rows at a time.
  template <class Work>
  void for_rows(const Frame& frame, Work work) {
    auto* const packed = reinterpret_cast<float*>(frame.scratch());
    for (std::size_t first = 0; first < head_.rows(); first += rows_) {
      const LossRows rows{std::min(rows_, head_.rows() - first), head_.width(), packed};
      const auto* const x = frame.data<Bf16>(node_.inputs[0]) + first * head_.width();
      parallel_for(rows.count, LogitKernels::row_block, [&](std::size_t begin, std::size_t end) {
        kernels().logits.pack(rows, x, packed, begin, end);
      });
      work(rows, first);
    }
  }
  /// Calls work(block, part, lane, scratch) for all blocks of classes.
  template <class Work>
  void for_blocks(const Frame& frame, Work work) {
    parallel_lanes(blocks_.lanes(), blocks_.parts(), [&](std::size_t part, std::size_t lane) {
      work(blocks_.block(part, head_.weight(frame), head_.width()), part, lane,
           reinterpret_cast<float*>(frame.scratch() + packed_bytes() + lane * lane_bytes()));
    });
  }
  /// Adds the losses of some rows, and calls total(row, log_sum_exp) for each.
  template <class Total>
  void add_losses(const Frame& frame, const LossRows& rows, std::size_t first, Total total) {
    const auto* const labels = head_.labels(frame).data() + first;
    sums_.begin();
    for_blocks(frame, [&](const LogitBlock& block, std::size_t, std::size_t lane, float* scratch) {
      kernels().logits.sums(rows, block, labels, sums_.of(lane), scratch);
    });
    for (std::size_t row = 0; row < rows.count; ++row) {
      const double logarithm = sums_.total(row);
      total(row, static_cast<float>(logarithm));
      if (labels[row] >= 0)
        head_.add(first + row, logarithm, sums_.sum(row, &LogitSums::of_label),
                  sums_.sum(row, &LogitSums::all) / static_cast<double>(head_.classes()));
    }
  }
  std::size_t dx_floats() const { return kernels().logits.dx_floats(rows_, head_.width()); }
  float* dx(const Frame& frame) const {
    return reinterpret_cast<float*>(frame.scratch() + packed_bytes() +
                                    blocks_.lanes() * lane_bytes());
  }

  std::size_t packed_bytes() const {
    return aligned(kernels().logits.packed_floats(rows_, head_.width()) * sizeof(float));
  }
  std::size_t lane_bytes() const {
    return aligned(kernels().logits.scratch_floats(rows_, head_.width()) * sizeof(float));
  }

  /// Sets the totals and factors of the rows' gradients.
  void set_rows(const Frame& frame, const LossRows& rows, std::size_t first) {
    std::fill_n(totals_, most_rows, 0.0f);
    std::fill_n(factors_, most_rows, 0.0f);
    for (std::size_t row = 0; row < rows.count; ++row)
      factors_[row] = head_.labels(frame)[first + row] >= 0 ? static_cast<float>(share_) : 0.0f;
    if (head_.given_by_backward())
      add_losses(frame, rows, first, [&](std::size_t row, float total) { totals_[row] = total; });
    else
      std::copy_n(head_.totals_of_forward(frame) + first, rows.count, totals_);
  }

  void multiply(const Frame& frame, const LossRows& rows, std::size_t first) {
    const auto* const labels = head_.labels(frame).data() + first;
    for_blocks(
        frame, [&](const LogitBlock& block, std::size_t part, std::size_t lane, float* scratch) {
          kernels().logits.gradients(rows, block, labels,
                                     {.total = totals_,
                                      .factor = factors_,
                                      .spread = head_.spread(),
                                      .of_label = head_.of_label(share_),
                                      .dx = dx(frame) + lane * dx_floats(),
                                      .dweight = head_.dweight(frame) + block.first * head_.width(),
                                      .add_dx = !blocks_.is_first_of_lane(part, lane),
                                      .add_dweight = first > 0},
                                     scratch);
        });
    auto* const to = frame.data<Bf16>(node_.outputs[0]) + first * head_.width();
    parallel_for(rows.count, LogitKernels::row_block, [&](std::size_t begin, std::size_t end) {
      kernels().logits.unpack(rows, dx(frame), dx_floats(), blocks_.lanes(), to, begin, end);
    });
  }

  Node node_;
  HeadLoss head_;
  ClassBlocks blocks_;
  bool backward_;
  std::size_t rows_;
  LogitLanes sums_;
  double share_ = 0; ///< backward: see HeadLoss::share()
  float totals_[most_rows], factors_[most_rows];
};

} // namespace

bool has_head_tiles(const Lowering& lowering, const Node& node) {
  const auto dtype = lowering.graph[node.inputs[0]].dtype;
  return dtype == DType::bf16 && lowering.compute_type(dtype) == DType::bf16 &&
         kernels().logits.sums;
}

StepPtr head_by_tiles(const Lowering& lowering, const Node& node, bool backward) {
  return std::make_unique<HeadByTiles>(lowering, node, backward);
}

} // namespace troupe::cpu
