/// Where in the flat space which learning rate holds (train.freeze, train.lr_scale), and where
/// weights decay (train.optimizer.decay).
#pragma once

#include "collectives/flat_plan.hpp"
#include "core/device/executable.hpp"
#include "nn/learning_rates.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::training {

/// Elements that one launch of the optimizer works on.
struct OptimizerChunk : OptimizerViews {
  nn::ParameterRate rate; ///< its factor is never 0
};

/// The arguments of a piece's optimizer.
OptimizerArguments at_rate(OptimizerArguments arguments, const nn::ParameterRate& rate);

class RateRanges {
public:
  /// `rates`: by parameter of the layout; empty: all are trained, and decay.
  RateRanges(const StorageLayout& layout, const collectives::FlatPlan& plan,
             std::span<const nn::ParameterRate> rates);

  /// The parts of views that are trained, cut where the rate changes, from the last to the first.
  /// `first`: where the views begin in the flat space.
  std::vector<OptimizerChunk> cut(const OptimizerViews& views, std::size_t first) const;
  bool is_frozen(std::size_t first, std::size_t elements) const;

private:
  struct Range {
    std::size_t first = 0, end = 0;
    nn::ParameterRate rate;
  };
  std::vector<Range> ranges_; ///< neighbours, of different rates
};

} // namespace troupe::training
