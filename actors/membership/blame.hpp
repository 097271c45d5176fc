/// Decides which nodes a job leaves out when some cannot reach the data ports of others.
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

/// Whether an error is one between nodes: the node that reports it need not be at fault.
inline bool is_between_nodes(Errc code) {
  return code == Errc::network || code == Errc::collective;
}

struct BlameCandidate {
  std::string address;
  std::int32_t workers = 1;
  std::int64_t came = 0; ///< greater: joined later
  bool leads = false;
};

/// What leaving out a set of nodes (their addresses) would cost. A superset costs at least as much.
struct BlameCosts {
  using Nodes = std::set<std::string>;
  /// The last copy of some shard is on these nodes.
  std::function<bool(const Nodes&)> loses_state = [](const Nodes&) { return false; };
  /// The other nodes are too few to decide who takes part.
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

/// "the data port of b:1 cannot be reached from a:1 and c:1: timed out": what is known of this
/// node. Empty: none of the links is one of its own.
std::string describe_links(const std::string& node, const std::vector<BrokenLink>& links);

/// Takes how far each node has come. Returns the addresses of the nodes that are behind the others.
/// Empty if they are more than half: then nothing distinguishes them.
std::vector<std::string>
find_behind(const std::vector<std::pair<std::string, std::int64_t>>& reached);

} // namespace troupe::actors
