/// Groups of a timeline's rows (metrics/trace.hpp).
#pragma once

#include <string>
#include <string_view>

namespace troupe::training {

/// Group of the rows that belong to the node.
inline constexpr std::string_view node_rows = "node";
/// Group of the rows of a rank.
inline std::string rank_rows(int rank) {
  return "rank " + std::to_string(rank);
}

} // namespace troupe::training
