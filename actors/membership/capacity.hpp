/// How many nodes can train: the room for further ones, and whole groups of workers.
#pragma once

#include "actors/membership/job_state.hpp"
#include "actors/membership/member_list.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::actors {

/// A view of the members, and of the spares that could join them.
class Capacity {
public:
  /// Job and members outlive this object.
  Capacity(const JobState& job, const MemberList& members, std::vector<NodeInfo> spares)
      : job_{job}, members_{members}, spares_{std::move(spares)} {}

  /// Explains why a node with this many workers cannot take part now, beside the spares; empty: it
  /// can.
  std::string lacks_place(std::int32_t workers) const;
  /// Returns the addresses of the nodes that train; none if they fill no whole groups.
  std::set<std::string> choose() const;
  bool has_enough() const;
  /// Describes the missing nodes; empty: none.
  std::string waiting_for() const;

private:
  std::string lacks_node(const std::vector<NodeInfo>& nodes) const;
  std::string lacks_room(const std::vector<NodeInfo>& nodes, std::int32_t workers) const;
  std::string lacks_group() const;
  std::vector<NodeInfo> with_spares(std::vector<NodeInfo> nodes) const;
  std::vector<NodeInfo> candidates() const { return with_spares(members_.nodes()); }

  const JobState& job_;
  const MemberList& members_;
  std::vector<NodeInfo> spares_;
};

} // namespace troupe::actors
