/// What ranks that speak for their teams write to each other
/// (collectives/point_to_point/message.hpp), where teams train apart: each owns a chunk of every
/// fragment of the parameters, as it has a shard of them, and sums what all have changed in it.
#pragma once

#include "collectives/point_to_point/message.hpp"

#include <bit>
#include <cstdint>
#include <utility>

namespace troupe::training {

/// A round of a fragment: that which ends behind this step.
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

/// To an owner. Values: the chunk, as it was at the beginning of the round less as it is, times the
/// team's weight; as it travels (change_codec.hpp).
struct PseudoGradientMessage {
  Round round;
  double weight = 1; ///< the team's part of all slices

  collectives::Message to_message() const {
    return {.header = {std::int64_t(RoundMessageKind::pseudo_gradient), round.fragment, round.step,
                       std::bit_cast<std::int64_t>(weight)}};
  }
  static double weight_of(const collectives::Message& message) {
    return std::bit_cast<double>(message.header[3]);
  }
};

/// From an owner, to all teams. Values: the sum of the changes that the round has taken.
struct RoundSum {
  Round round;
  /// Mean squared distance of teams from that sum, times the chunk's elements: by how much they
  /// were apart.
  double spread = 0;
  int owner = 0; ///< its team

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
