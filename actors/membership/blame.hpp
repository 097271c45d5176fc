/// Decides which nodes a job leaves out if some cannot reach the data ports of others.
#pragma once

#include "actors/membership/links.hpp"
#include "core/error.hpp"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::actors {

/// Whether an error lies between nodes: the reporting node need not be at fault.
inline bool is_between_nodes(Errc code) {
  return code == Errc::network || code == Errc::collective;
}

struct BlameCandidate {
  std::string address;
  std::int32_t workers = 1;
  std::int64_t came = 0; ///< greater: joined later
  bool leads = false;
};

/// The costs of leaving out a set of nodes (their addresses). A superset costs at least as much.
struct BlameCosts {
  using Nodes = std::set<std::string>;
  /// Whether the last copy of a shard is on these nodes.
  std::function<bool(const Nodes&)> loses_state = [](const Nodes&) { return false; };
  /// Whether the other nodes are too few to decide records.
  std::function<bool(const Nodes&)> loses_quorum = [](const Nodes&) { return false; };
  bool leader_may_leave = true; ///< another node can lead
};

/// Returns the addresses of the nodes to leave out: the smallest set without which no broken link
/// is left (a minimum vertex cover). A link that is broken in one direction is broken; links of
/// other nodes do not count. A leader that may not leave is never in the set. Otherwise, the costs
/// come first, in their order; among the smallest sets, the one with the fewest workers is taken,
/// then one without the leader, then the one with the nodes that joined last. Exact for up to about
/// twenty nodes with broken links; for more, it may stop at a good set (after `most_branches`).
std::set<std::string> choose_left_out(const std::vector<BlameCandidate>& nodes,
                                      const std::vector<BrokenLink>& links,
                                      const BlameCosts& costs);

/// "the data port of b:1 cannot be reached from a:1 and c:1: timed out": describes the broken links
/// of this node. Returns an empty string if it has none.
std::string describe_links(const std::string& node, const std::vector<BrokenLink>& links);

/// Takes the progress of each node. Returns the addresses of the nodes that have made less progress
/// than the others. Empty if they are more than half: then it is unclear which nodes are slow.
std::vector<std::string>
find_behind(const std::vector<std::pair<std::string, std::int64_t>>& reached);

} // namespace troupe::actors
