/// Places in the flat space that no parameter has: layouts align where parameters begin. Nobody
/// writes gradients there, so where buckets share memory another one's are left in them.
#pragma once

#include "collectives/flat_plan.hpp"
#include "core/device/executable.hpp"

#include <cstddef>
#include <vector>

namespace troupe::training {

struct FlatGap {
  std::size_t first = 0, elements = 0;

  bool operator==(const FlatGap&) const = default;
};

/// In ascending order; without the padding at the buckets' ends.
std::vector<FlatGap> flat_gaps(const StorageLayout& layout, const collectives::FlatPlan& plan);

/// What of them lies in [first, first + elements), counted from `first`.
std::vector<FlatGap> gaps_within(const std::vector<FlatGap>& gaps, std::size_t first,
                                 std::size_t elements);

} // namespace troupe::training
