/// Consecutive ranks.
#pragma once

#include <cstdint>
#include <limits>

namespace troupe::metrics {

/// By default all ranks.
struct RankRange {
  std::int32_t first = 0;
  std::int32_t count = std::numeric_limits<std::int32_t>::max();

  bool contains(std::int32_t rank) const { return rank >= first && rank - first < count; }
};

} // namespace troupe::metrics
