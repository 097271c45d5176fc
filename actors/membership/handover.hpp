/// Whether the other nodes could continue without some nodes, above all without the leader; and the
/// leader's requests to leave.
#pragma once

#include "actors/membership/participants.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::actors {

/// Spares and witnesses count as voters, but cannot lead, because they have no state.
class Handover {
public:
  Handover(const JobState& job, const Participants& participants, Actions& actions)
      : job_{job}, participants_{participants}, actions_{actions} {}

  /// Explains why the others could not continue after the leader has left between two steps; empty:
  /// they can.
  std::string lacks() const;
  /// Whether the others can continue from the current step when the leader is left out or fails.
  bool is_possible() const;
  /// Whether the others have only an older state, because both a shard and its copy would be lost.
  bool loses_state(const std::set<std::string>& without) const;
  bool loses_quorum(const std::set<std::string>& without) const;
  /// Whether another node can lead after this error of the leader.
  bool is_possible_after(const Error& error) const;

  /// The leader asks to leave. Refuses if the others could not continue, or gather and it does not
  /// wait.
  void ask(RequestId request, bool waits);
  bool is_asked() const { return !leavers_.empty(); }
  /// Refuses the pending requests if no other node can lead any more, because nodes were lost, or
  /// leave too. With too few nodes it would never train again, and so never hand over.
  void check();
  /// Answers the pending requests. `refused`: empty if the leader leaves.
  void answer(const std::optional<Error>& refused);
  /// Refuses with what the others lack.
  void keep_leader(const std::string& lacks) { answer(ends_with_leader(lacks)); }

private:
  bool loses_leaders_state() const;
  Error ends_with_leader(const std::string& lacks) const;
  std::string lacks_now(bool waits) const;
  std::ptrdiff_t others_that_stay() const;
  std::int64_t workers_without_leader() const;

  const JobState& job_;
  const Participants& participants_;
  Actions& actions_;
  std::vector<RequestId> leavers_ = {};
};

} // namespace troupe::actors
