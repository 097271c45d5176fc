/// The end of a job, until all its nodes know of it.
#pragma once

#include "actors/membership/entrants.hpp"
#include "actors/membership/handover.hpp"

#include <optional>
#include <set>
#include <vector>

namespace troupe::actors {

/// Only the first end of a job counts. Requests that report an end are answered when all nodes know
/// of it.
class Ending {
public:
  Ending(JobState& job, Participants& participants, Entrants& entrants, Handover& handover,
         Actions& actions)
      : job_{job},
        participants_{participants}, entrants_{entrants}, handover_{handover}, actions_{actions} {}

  /// Refuses all nodes: the job does not begin, or continues at another node.
  void refuse_all(const Error& error);
  /// Ends this Membership: another node leads from now on.
  void quit();

  /// Has the voters decide the end, so that it is not lost with the leader. If they do not answer
  /// in time, or there are no others, the nodes end anyway.
  void end(const JobEnd& end, std::optional<RequestId> request = {});
  /// A node has failed before COORDINATOR existed.
  void fail(const Error& error, RequestId request);
  /// Whether the leader itself fails before the first step. A person has to fix that, even if
  /// another node with the same error has already halted the job.
  bool is_due_after(const Error& error) const;
  /// Tells all nodes that the job has ended. A node that does not answer learns it from its lost
  /// connection.
  void tell(const JobEnd& end);
  /// The node knows of the end, is lost, or did not answer in time.
  void heard(NodeId node);
  /// The end that the voters decide; null: none.
  const JobEnd* deciding() const { return is_told_ || !decided_ ? nullptr : &*decided_; }
  /// The voters have decided the end, or never will.
  void tell_decided();
  void wake();
  std::optional<Time> next_wake() const { return limit_; }

  /// Cancels the waits of ranks for others to connect, or for the checkpoint.
  void cancel_connecting(const Error& error);
  bool is_unstarted() const { return unstarted_.has_value(); }

private:
  void answer_if_all_know();

  JobState& job_; ///< it sets `ended` and `closed`
  Participants& participants_;
  Entrants& entrants_;
  Handover& handover_;
  Actions& actions_;
  std::optional<Error> unstarted_ = {}; ///< why the ranks will not all be connected
  std::optional<JobEnd> decided_ = {};
  std::optional<Time> limit_ = {}; ///< for the voters to decide
  bool is_told_ = false;
  std::set<NodeId> open_ = {}; ///< nodes that have not answered yet
  std::vector<RequestId> requests_ = {};
};

} // namespace troupe::actors
