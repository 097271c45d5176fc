/// Checks of a node that asks to take part, which need no other node.
#pragma once

#include "actors/membership/participants.hpp"

#include <optional>

namespace troupe::actors {

class EntryChecks {
public:
  /// Both outlive this object.
  EntryChecks(const JobState& job, const Participants& participants)
      : job_{job}, list_{participants.list()}, participants_{participants} {}

  /// Errors: invalid_input, data; network if the node may try again.
  Status check(const NodeInfo& info) const;
  /// Returns why no node is admitted any more; or a wrong version or config, which is the more
  /// useful error. Precondition: none is admitted.
  Error refusal(const NodeInfo& info) const;
  /// Returns why the leader has to go if it was restarted and has other data now than this node,
  /// which has trained the job further; none: it need not.
  std::optional<Error> leader_is_behind(const NodeInfo& info) const;

private:
  Status check_name(const NodeInfo& info) const;
  Status check_slices(const NodeInfo& info) const;
  Status check_data(const NodeInfo& info) const;

  const JobState& job_;
  const MemberList& list_;
  const Participants& participants_;
};

} // namespace troupe::actors
