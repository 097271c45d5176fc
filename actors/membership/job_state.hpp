/// The rules of a job's membership, and the state that the parts of Membership share.
#pragma once

#include "actors/cluster_messages.hpp"
#include "actors/membership/worker_groups.hpp"
#include "core/config/cluster.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace troupe::actors {

using Time = std::chrono::steady_clock::time_point;

/// Returns the earlier of two limits; the only one if the other is empty, and so does not apply.
inline std::optional<Time> earlier(std::optional<Time> one, std::optional<Time> other) {
  return !one || (other && *other < *one) ? other : one;
}
/// Whether a limit is over. Then it no longer applies.
inline bool is_due(std::optional<Time>& limit, Time now) {
  if (!limit || now < *limit)
    return false;
  limit.reset();
  return true;
}

struct MembershipRules {
  std::int32_t min_nodes = 1, max_nodes = 1;
  TimeoutsConfig timeouts = {};      ///< cluster.timeouts
  std::chrono::milliseconds probe{}; ///< for connecting to a node's data port
  /// The shortest time between two halts for nodes that were left out before.
  std::chrono::milliseconds between_returns = std::chrono::minutes{1};
  /// Returns the number of slices of a global batch for a job that begins with this many workers.
  std::function<std::int64_t(std::int64_t workers)> slices = [](auto workers) { return workers; };
  /// Returns a random secret. Error: internal, if the system gives no random bytes.
  std::function<Result<std::string>()> make_secret;
  WorkerGroups groups = {}; ///< workers train in whole groups
  bool has_voters = false;  ///< records are proposed; otherwise each is decided at once
  /// If this node succeeds a leader: its last generation, and why the leader was lost (stopped: it
  /// left).
  std::optional<training::GenerationRecord> before = {};
  Error lost = {};
  /// Nodes leave one at a time, and none while a lost node is replaced: the only copy of a leaving
  /// node's part of the state is on one other node.
  bool leave_one_by_one = false;
  /// Explains why a part of a generation's state would be lost with its node; empty: all parts have
  /// copies.
  std::function<std::string(const training::GenerationRecord&)> lacks_copies = [](const auto&) {
    return std::string{};
  };
};

///   gathering --(all have joined, and min_nodes)--> deciding --(a quorum of voters)--> connecting
///       ^  a lost node is forgotten                                                    | (lead)
///       +------ a node is lost, or another joins: all halt, and join again -------- training -->
///       ended
enum class MembershipPhase : std::uint8_t { gathering, deciding, connecting, training };

/// Only Membership, Generations and Ending change it.
struct JobState {
  MembershipRules rules;
  Time now = {}; ///< of the event that is handled
  MembershipPhase phase = MembershipPhase::gathering;
  std::optional<training::GenerationRecord> generation = {}; ///< the last one
  bool inherits = false;            ///< the nodes of a lost leader gather here
  bool trained = false;             ///< COORDINATOR existed, here or at an earlier leader
  bool stopping = false;            ///< the job was asked to stop
  bool ended = false;               ///< this Membership does nothing more than tell the end
  std::optional<Error> closed = {}; ///< why no node is admitted any more
  std::optional<Error> ending = {}; ///< why the job is saved and ends
  bool forms_anyway = false;        ///< without enough nodes, to save the state

  bool has_begun() const { return generation.has_value(); }
  /// Whether the next generation only saves the state, so that any number of nodes is enough.
  bool saves() const { return has_begun() && (stopping || forms_anyway); }
  bool gathers() const { return phase == MembershipPhase::gathering && !ended && !closed; }
  /// Whether the voters decide the next generation.
  bool decides() const { return phase == MembershipPhase::deciding && !ended && !closed; }
  bool connects() const { return phase == MembershipPhase::connecting && !ended; }
  /// Returns the node's ranks in the last generation; null: it has none.
  const training::MemberInfo* place_of(const std::string& address) const {
    if (!generation)
      return nullptr;
    const auto& nodes = generation->nodes;
    const auto place = std::ranges::find(nodes, address, &training::MemberInfo::address);
    return place == nodes.end() ? nullptr : &*place;
  }
};

} // namespace troupe::actors
