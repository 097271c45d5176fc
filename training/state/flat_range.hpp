/// Ranges of the flat space (flat_plan.hpp), and its gaps between parameters, which are aligned. No
/// gradients are written to gaps. If buckets share memory, a gap contains stale gradients of
/// another bucket.
#pragma once

#include "core/device/executable.hpp"
#include "training/flat_plan.hpp"

#include <cstddef>
#include <vector>

namespace troupe::training {

struct FlatRange {
  std::size_t first = 0, elements = 0;

  std::size_t end() const { return first + elements; }
  /// Returns the elements in both ranges; none if they do not overlap.
  FlatRange overlap(const FlatRange& other) const;
  bool operator==(const FlatRange&) const = default;
};

/// Returns the gaps in ascending order, without the padding at the ends of buckets.
std::vector<FlatRange> flat_gaps(const StorageLayout& layout, const FlatPlan& plan);

/// Returns the parts of the gaps in `range`, relative to its first element.
std::vector<FlatRange> gaps_within(const std::vector<FlatRange>& gaps, const FlatRange& range);

} // namespace troupe::training
