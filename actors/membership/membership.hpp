/// Decides which nodes take part in a job: events in, actions out. It outlives COORDINATOR, which
/// leads one generation from its first step to its last.
#pragma once

#include "actors/membership/generations.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

/// A node that joins a full job is a spare, and gets the ranks of the next node that is lost. When
/// the leader is to leave the others, Membership ends between two steps, and that of another node
/// takes over. Spares and witnesses that join or leave change the voters, without a halt.
///
/// It has no clock, no threads and no messages: its actor (MembershipState) calls a function for
/// each event, with the time, and then carries out take_actions(). It calls wake() at next_wake().
class Membership {
public:
  Membership(MembershipRules rules, Time now);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// A join request. Answered with an assignment or the reason of a refusal.
  void join(RequestId request, NodeId node, const NodeInfo& info, Time now);
  /// The node no longer waits for its assignment.
  void withdraw(NodeId node, Time now);
  /// `detected_after`: how long the node was silent before.
  void node_down(NodeId node, const std::string& why, std::chrono::milliseconds detected_after,
                 Time now);
  /// A node's answer to action::Probe. `broken`: none if it has not answered.
  void probed(std::int64_t probe, NodeId node, const std::optional<std::vector<BrokenLink>>& broken,
              Time now);
  /// The answer to action::Propose. `refused`: another node leads.
  void decided(const std::optional<Error>& refused, Time now);
  /// Another node has received the state that the job resumes from.
  void state_received() { generations_.state_received(); }
  /// COORDINATOR exists, so all nodes have joined. Returns false if they were halted meanwhile.
  bool begin_training(Time now);
  /// No step of this generation is in flight, and none begins.
  void coordinator_halted(std::int64_t generation, Time now);
  /// A node cannot do its part. Answered when the others continue without it, or when the job has
  /// ended. Refused if COORDINATOR is to end the job.
  void failed(RequestId request, std::int64_t generation, const SharedFailure& failure, Time now);
  /// The job has ended. Answered when the reachable nodes know.
  void finish(RequestId request, const JobEnd& end, Time now);
  void heard_end(NodeId node, Time now);
  void stop(Time now);
  /// Answered at once, or when the steps in flight are saved if the node leads. Refused if it leads
  /// and the others could not continue, or gather; with `waits`, it waits for the latter.
  void leave(RequestId request, NodeId node, bool waits, Time now);

  void wake(Time now);
  /// Empty: never.
  std::optional<Time> next_wake() const;
  std::vector<Action> take_actions() { return actions_.take(); }

  /// The number of slices of a global batch; 0: the job has not begun.
  std::int64_t slices() const { return job_.has_begun() ? job_.generation->slices : 0; }
  /// Describes what a node waits for; empty: nothing.
  WaitStatus status(NodeId node, Time now) const;
  /// Whether this is a member, or a node that may become one without another request to join.
  bool knows(NodeId node) const;

private:
  template <class Handler>
  void handle(Time now, Handler handler);
  void settle();
  void admit(Spare node);
  const Member* find_known(NodeId node) const;
  void enter(Spare node);
  void admit_entrant(NodeId node);
  void conclude(const Probes::Outcome& outcome);
  void let_leave(Member& member);

  // Nodes that are lost, fail, or no longer wait.
  std::optional<Spare> take_waiting(NodeId node);
  bool lose_waiting(NodeId node);
  void drop(NodeId node);
  void refuse_late();
  void lose(Member& member, const Error& error);
  void member_gone(Member& member, const std::string& why,
                   std::chrono::milliseconds detected_after);
  void leave_behind(NodeId newcomer);
  bool leave_out(const FaultSearch::Evidence& evidence);
  void refuse_for_now(Member& member, const std::string& why);
  void suspect(const SharedFailure& failure);
  bool continues_after(const SharedFailure& failure);
  bool continues_without(const Error& error);

  JobState job_;
  Actions actions_;
  // Each part refers to those before it.
  Participants participants_{job_, actions_};
  Probes probes_{job_, actions_};
  Entrants entrants_{job_, participants_, probes_, actions_};
  Handover handover_{job_, participants_, actions_};
  FaultSearch faults_{job_, participants_, handover_, probes_, actions_};
  Records records_{job_, participants_, actions_};
  Ending ending_{job_, participants_, entrants_, handover_, actions_};
  Generations generations_{job_,    participants_, entrants_, handover_,
                           faults_, records_,      ending_,   actions_};
};

} // namespace troupe::actors
