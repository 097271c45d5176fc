/// What ranks that speak for their teams write to each other (collectives/post/mail.hpp), where
/// teams train apart: each owns a chunk of every fragment of the parameters, as it has a shard of
/// them, and sums what all have changed in it.
#pragma once

#include "collectives/post/mail.hpp"

#include <bit>
#include <cstdint>
#include <utility>

namespace troupe::engine {

/// A round of a fragment: that which ends behind this step.
struct Round {
  int fragment = 0;
  std::int64_t step = 0;
  friend bool operator==(const Round&, const Round&) = default;
  friend bool operator<(const Round& a, const Round& b) {
    return std::pair{a.fragment, a.step} < std::pair{b.fragment, b.step};
  }
};

enum class RoundLetter : std::int64_t { change, sum };

inline RoundLetter round_letter(const collectives::Mail& mail) {
  return static_cast<RoundLetter>(mail.heading[0]);
}
inline Round round_of(const collectives::Mail& mail) {
  return {static_cast<int>(mail.heading[1]), mail.heading[2]};
}

/// To an owner. Values: the chunk, as it was at the beginning of the round less as it is, times the
/// team's weight; as it travels (change_codec.hpp).
struct RoundChange {
  Round round;
  double weight = 1; ///< the team's part of all slices

  collectives::Mail to_mail() const {
    return {.heading = {std::int64_t(RoundLetter::change), round.fragment, round.step,
                        std::bit_cast<std::int64_t>(weight)}};
  }
  static double weight_of(const collectives::Mail& mail) {
    return std::bit_cast<double>(mail.heading[3]);
  }
};

/// From an owner, to all teams. Values: the sum of the changes that the round has taken.
struct RoundSum {
  Round round;
  /// Mean squared distance of teams from that sum, times the chunk's elements: by how much they
  /// were apart.
  double spread = 0;
  int owner = 0; ///< its team

  collectives::Mail to_mail() const {
    return {.heading = {std::int64_t(RoundLetter::sum), round.fragment, round.step,
                        std::bit_cast<std::int64_t>(spread), owner}};
  }
  static std::int64_t owner_of(const collectives::Mail& mail) { return mail.heading[4]; }
  static double spread_of(const collectives::Mail& mail) {
    return std::bit_cast<double>(mail.heading[3]);
  }
};

} // namespace troupe::engine
