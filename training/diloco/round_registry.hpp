/// Which teams' changes an owner has of each round, and of which rounds it has told the sum.
#pragma once

#include "collectives/strategy.hpp"
#include "training/diloco/messages.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace troupe::training {

/// A round is closed with the changes of all teams; or, when it has those of a quorum and the
/// others' time is over, without them. What comes later is taken by the next round of its fragment:
/// each change is in exactly one sum.
class RoundRegistry {
public:
  /// Rounds are those that end from this step on.
  RoundRegistry(const collectives::Strategy& strategy, int fragments, std::int64_t first_step);

  /// The round of a fragment that is closed next.
  Round next(int fragment) const { return {fragment, open_[index(fragment)].step}; }
  /// Whether a team's change of this round is still to come: all of a team come in order.
  bool expects(Round round, int replica_group) const;
  void come(Round round, int replica_group, collectives::MessagePtr pseudo_gradient);
  /// Whether the next round has all changes; or those of a quorum, by then or when its time is
  /// over.
  bool is_whole(int fragment) const { return came_to_next(fragment) == replica_groups_; }
  bool has_quorum(int fragment) const { return came_to_next(fragment) >= quorum_; }
  /// Closes the next round: what it takes, by round and then by team.
  std::vector<collectives::MessagePtr> close(int fragment);
  /// Whether all rounds that end before this step are closed, and all changes have come.
  bool is_settled(int fragment, std::int64_t steps) const;
  /// What no round has taken yet.
  std::vector<collectives::MessagePtr> take_rest(int fragment);

private:
  struct Open {
    std::int64_t step;                ///< of the next round
    std::vector<std::int64_t> coming; ///< by team: the round of its next change
    std::map<std::pair<std::int64_t, int>, collectives::MessagePtr> here; ///< by round and team
  };
  static std::size_t index(int fragment) { return static_cast<std::size_t>(fragment); }
  int came_to_next(int fragment) const;

  int replica_groups_, quorum_;
  std::int64_t steps_;     ///< of a round
  std::vector<Open> open_; ///< by fragment
};

} // namespace troupe::training
