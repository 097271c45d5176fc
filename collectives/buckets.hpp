/// Which units travel together: gradients of neighbouring units share one collective, so that small
/// units do not pay a latency each (Li et al., "PyTorch Distributed", VLDB 2020, section 3.2.3).
#pragma once

#include "troupe/core/graph.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::collectives {

/// Units [first, last] in one flat range. Backward fills `last` first and `first` last.
struct Bucket {
  UnitId first = 0, last = 0;
  std::size_t offset = 0, elements = 0; ///< in the flat buffer of all units, fp32 elements
};

/// Buckets in the order in which backward completes them: from the last unit to the first. A bucket
/// is closed as soon as it holds `bucket_bytes`; a unit is never split. Units without parameters
/// join their neighbours. Unit u starts at the sum of the units before it.
std::vector<Bucket> plan_buckets(std::span<const std::size_t> unit_elements,
                                 std::size_t bucket_bytes);

} // namespace troupe::collectives
