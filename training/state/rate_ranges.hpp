/// Ranges of the flat space with one learning rate factor (train.freeze, train.lr_scale) and one
/// setting of weight decay (train.optimizer.decay).
#pragma once

#include "collectives/flat_plan.hpp"
#include "core/device/executable.hpp"
#include "nn/learning_rates.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::training {

/// Elements that one launch of the optimizer updates.
struct OptimizerChunk : OptimizerViews {
  nn::ParameterRate rate; ///< the factor is never 0
};

/// Returns the optimizer's arguments at a rate.
OptimizerArguments at_rate(OptimizerArguments arguments, const nn::ParameterRate& rate);

class RateRanges {
public:
  /// `rates`: by parameter of the layout; empty: all are trained and decay.
  RateRanges(const StorageLayout& layout, const collectives::FlatPlan& plan,
             std::span<const nn::ParameterRate> rates);

  /// Divides views into their trained ranges of one rate, from the last to the first. `first`:
  /// offset of the views in the flat space.
  std::vector<OptimizerChunk> cut(const OptimizerViews& views, std::size_t first) const;
  bool is_frozen(std::size_t first, std::size_t elements) const;

private:
  struct Range {
    std::size_t first = 0, end = 0;
    nn::ParameterRate rate;
  };
  std::vector<Range> ranges_; ///< contiguous; neighbours differ in rate
};

} // namespace troupe::training
