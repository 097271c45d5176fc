/// Common part of batch norm forward and backward: sums over all rows, here and perhaps on other
/// ranks, before the second pass over the rows.
#pragma once

#include "core/device/sum_over_ranks.hpp"
#include "cpu/onednn/detail/column_sums.hpp"
#include "cpu/onednn/detail/slice_fusion.hpp"
#include "cpu/onednn/lowering.hpp"

#include <optional>

namespace troupe::cpu {

class BatchNormStep : public Step, public SliceConsumer {
public:
  BatchNormStep(const Lowering& lowering, const Node& node, const Shape& shape)
      : node_{node}, attributes_{std::get<BatchNormAttributes>(node.attributes)}, columns_{shape},
        threads_{lowering.options.threads} {
    if (is_synchronized(node))
      rank_sums_.emplace(columns_.channels());
  }

  void begin(const Frame&, std::size_t workers) override {
    sums_.begin(columns_, workers);
    summed_ = true;
  }

  std::span<double> rank_sums() final {
    return rank_sums_ ? rank_sums_->values() : std::span<double>{};
  }

  void reduce(const Frame& frame) final {
    if (!summed_) {
      begin(frame, columns_.shares(threads_));
      columns_.for_shares(threads_, [&](std::size_t share, std::size_t from, std::size_t to) {
        consume(frame, share, from, to);
      });
    }
    summed_ = false;
    sums_.finish();
    if (rank_sums_) {
      rank_sums_->rows() = static_cast<double>(columns_.rows());
      give_sums(*rank_sums_);
    }
    reduced_ = true;
  }

protected:
  /// Writes this rank's sums, from sums_.
  virtual void give_sums(RankSums& sums) const = 0;

  void reduce_once(const Frame& frame) {
    if (!reduced_)
      reduce(frame);
    reduced_ = false;
  }

  /// Rows that the sums cover.
  double rows() const {
    return rank_sums_ ? std::as_const(*rank_sums_).rows() : static_cast<double>(columns_.rows());
  }

  Node node_;
  BatchNormAttributes attributes_;
  Columns columns_;
  int threads_;
  ColumnSums sums_;                   ///< of this rank
  std::optional<RankSums> rank_sums_; ///< of all ranks; only if synchronized

private:
  bool summed_ = false;  ///< summed as a consumer of the writer of x or dy
  bool reduced_ = false; ///< for the next run
};

} // namespace troupe::cpu
