/// Tracks which pseudo-gradients an owner has received in each round, and which rounds it has
/// closed.
#pragma once

#include "training/strategies/diloco/messages.hpp"
#include "training/strategy.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace troupe::training {

/// A round closes with the pseudo-gradients of all replica groups, or, after a timeout, with those
/// of a quorum. A later one is added to the fragment's next round: each pseudo-gradient is in
/// exactly one sum.
class RoundRegistry {
public:
  /// Tracks rounds that end at or after `first_step`.
  RoundRegistry(const Strategy& strategy, int fragments, std::int64_t first_step);

  /// Returns the fragment's next round to close.
  Round next(int fragment) const { return {fragment, open_[index(fragment)].step}; }
  /// Whether this round is the next one for which the replica group sends a pseudo-gradient. Each
  /// group sends its rounds in order.
  bool expects(Round round, int replica_group) const;
  void add(Round round, int replica_group, collectives::MessagePtr pseudo_gradient);
  /// Whether the next round has the pseudo-gradients of all replica groups, or of a quorum.
  bool is_whole(int fragment) const { return came_to_next(fragment) == replica_groups_; }
  bool has_quorum(int fragment) const { return came_to_next(fragment) >= quorum_; }
  /// Closes the next round and returns its pseudo-gradients, ordered by round and replica group.
  std::vector<collectives::MessagePtr> close(int fragment);
  /// Whether all rounds that end before this step are closed, and all their pseudo-gradients have
  /// arrived.
  bool is_settled(int fragment, std::int64_t steps) const;
  /// Removes and returns the pseudo-gradients that no round has summed yet.
  std::vector<collectives::MessagePtr> take_rest(int fragment);

private:
  struct Open {
    std::int64_t step;                ///< of the next round
    std::vector<std::int64_t> coming; ///< by replica group: the round of its next pseudo-gradient
    /// By round and replica group.
    std::map<std::pair<std::int64_t, int>, collectives::MessagePtr> here;
  };
  static std::size_t index(int fragment) { return static_cast<std::size_t>(fragment); }
  int came_to_next(int fragment) const;

  int replica_groups_, quorum_;
  std::int64_t steps_;     ///< of a round
  std::vector<Open> open_; ///< by fragment
};

} // namespace troupe::training
