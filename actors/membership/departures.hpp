/// Members that no longer take part: lost, dismissed, left out, or asked to leave.
#pragma once

#include "actors/membership/entrants.hpp"
#include "actors/membership/fault_search.hpp"
#include "actors/membership/records.hpp"

#include <optional>
#include <string>

namespace troupe::actors {

/// Spares take over the ranks of members that are removed.
class Departures {
public:
  /// All outlive this object.
  Departures(const JobState& job, Participants& participants, Entrants& entrants,
             JoinHistory& history, Records& records, Actions& actions)
      : job_{job}, participants_{participants}, entrants_{entrants}, history_{history},
        records_{records}, actions_{actions} {}

  /// Removes a spare, a witness or an entrant, whose request stays pending; none: it is none.
  std::optional<Spare> take_waiting(NodeId node);
  /// The same for one that is lost, which is logged. Returns false if it is none.
  bool lose_waiting(NodeId node);
  /// Refuses members whose limit for an assignment is over. Returns them: they no longer wait.
  std::vector<NodeId> refuse_late();
  /// Describes the loss of a member.
  Error loss_of(const Member& member, const std::string& why) const;
  /// The node may be alive but cut off: then it joins again later.
  void lose(Member& member, const Error& error);
  /// The node still runs: its daemon ends, and this process is not admitted again.
  void dismiss(Member& member, JobEnd end);
  /// Dismisses the nodes that were asked to leave, now that nothing is trained.
  void let_leave();
  /// Dismisses all awaited nodes except the leader.
  void dismiss_absent();
  /// A new member no longer answers.
  void leave_behind(NodeId newcomer);
  /// Leaves out nodes, which all wait for an assignment, and may join again later with their next
  /// request. Returns whether one of them is the leader, whose Membership ends then.
  bool leave_out(const FaultSearch::Evidence& evidence);

private:
  void refuse_for_now(Member& member, const std::string& why);

  const JobState& job_;
  Participants& participants_;
  Entrants& entrants_;
  JoinHistory& history_;
  Records& records_;
  Actions& actions_;
};

} // namespace troupe::actors
