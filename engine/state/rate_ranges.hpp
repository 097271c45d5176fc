/// Where in the flat space which learning rate holds (train.freeze, train.lr_scale).
#pragma once

#include "troupe/collectives/flat_plan.hpp"
#include "troupe/core/device/executable.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::engine {

/// Elements that one launch of the optimizer works on.
struct OptimizerPiece : OptimizerViews {
  double rate = 1; ///< multiplies the learning rate; never 0
};

/// The arguments of a piece's optimizer.
OptimizerArguments at_rate(OptimizerArguments arguments, double rate);

class RateRanges {
public:
  /// `factors`: by parameter of the layout, 0 where it is frozen; empty: 1 of all.
  RateRanges(const StorageLayout& layout, const collectives::FlatPlan& plan,
             std::span<const double> factors);

  /// The parts of views that are trained, cut where the factor changes, from the last to the first.
  /// `first`: where the views begin in the flat space.
  std::vector<OptimizerPiece> cut(const OptimizerViews& views, std::size_t first) const;
  bool is_frozen(std::size_t first, std::size_t elements) const;

private:
  struct Range {
    std::size_t first = 0, end = 0;
    double factor = 1;
  };
  std::vector<Range> ranges_; ///< neighbours, of different factors
};

} // namespace troupe::engine
