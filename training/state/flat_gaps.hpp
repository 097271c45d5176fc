/// Gaps of the flat space between parameters, which are aligned. No gradients are written there. If
/// buckets share memory, a gap contains stale gradients of another bucket.
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

/// Returns the gaps in ascending order, without the padding at the ends of buckets.
std::vector<FlatGap> flat_gaps(const StorageLayout& layout, const collectives::FlatPlan& plan);

/// Returns the parts of the gaps in [first, first + elements), relative to `first`.
std::vector<FlatGap> gaps_within(const std::vector<FlatGap>& gaps, std::size_t first,
                                 std::size_t elements);

} // namespace troupe::training
