/// Messages between the leaders of replica groups (collectives/point_to_point/message.hpp) in
/// DiLoCo. Each leader owns a chunk of every fragment, sums all pseudo-gradients of that chunk, and
/// sends the sum.
#pragma once

#include "collectives/point_to_point/message.hpp"

#include <bit>
#include <cstdint>
#include <utility>

namespace troupe::training {

/// A round of a fragment, identified by its last step.
struct Round {
  int fragment = 0;
  std::int64_t step = 0;
  friend bool operator==(const Round&, const Round&) = default;
  friend bool operator<(const Round& a, const Round& b) {
    return std::pair{a.fragment, a.step} < std::pair{b.fragment, b.step};
  }
};

enum class RoundMessageKind : std::int64_t { pseudo_gradient, sum };

inline RoundMessageKind round_message_kind(const collectives::Message& message) {
  return static_cast<RoundMessageKind>(message.header[0]);
}
inline Round round_of(const collectives::Message& message) {
  return {static_cast<int>(message.header[1]), message.header[2]};
}

/// To an owner. Values: the chunk at the beginning of the round minus the chunk now, times the
/// replica group's weight, encoded (pseudo_gradient_codec.hpp).
struct PseudoGradientMessage {
  Round round;
  double weight = 1; ///< the replica group's share of all slices

  collectives::Message to_message() const {
    return {.header = {std::int64_t(RoundMessageKind::pseudo_gradient), round.fragment, round.step,
                       std::bit_cast<std::int64_t>(weight)}};
  }
  static double weight_of(const collectives::Message& message) {
    return std::bit_cast<double>(message.header[3]);
  }
};

/// From an owner to all replica groups. Values: the sum of the round's pseudo-gradients.
struct RoundSum {
  Round round;
  /// Mean squared distance of the pseudo-gradients from their sum, times the chunk's elements: how
  /// far apart the replica groups were.
  double spread = 0;
  int owner = 0; ///< its replica group

  collectives::Message to_message() const {
    return {.header = {std::int64_t(RoundMessageKind::sum), round.fragment, round.step,
                       std::bit_cast<std::int64_t>(spread), owner}};
  }
  static std::int64_t owner_of(const collectives::Message& message) { return message.header[4]; }
  static double spread_of(const collectives::Message& message) {
    return std::bit_cast<double>(message.header[3]);
  }
};

} // namespace troupe::training
