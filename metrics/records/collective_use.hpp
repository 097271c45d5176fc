/// The use of collectives in a step, by kind.
#pragma once

#include "metrics/records/field.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

namespace troupe::metrics {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  shard_replica ///< gradients, to the rank's shard replica
};

inline constexpr std::array<std::string_view, 6> collective_kind_names = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "shard_replica"};

constexpr std::string_view to_string(CollectiveKind kind) {
  return collective_kind_names[static_cast<std::size_t>(kind)];
}

/// Use of one kind of collective in a step.
struct CollectiveUse {
  std::uint64_t bytes = 0; ///< summed over ranks
  double seconds = 0;      ///< mean over ranks

  bool operator==(const CollectiveUse&) const = default;
};

template <>
inline constexpr auto fields_of<CollectiveUse> =
    std::tuple{field("bytes", &CollectiveUse::bytes), field("seconds", &CollectiveUse::seconds)};

using CollectiveUses =
    std::array<CollectiveUse, collective_kind_names.size()>; ///< by CollectiveKind

} // namespace troupe::metrics
