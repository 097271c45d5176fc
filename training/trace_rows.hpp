/// How the rows of a timeline are grouped (metrics/trace.hpp).
#pragma once

#include <string>
#include <string_view>

namespace troupe::training {

/// The group of a node's own rows.
inline constexpr std::string_view node_rows = "node";
/// The group of a rank's rows.
inline std::string rank_rows(int rank) {
  return "rank " + std::to_string(rank);
}

} // namespace troupe::training
