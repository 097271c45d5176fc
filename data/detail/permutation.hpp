/// A random permutation of 0 .. size-1 that computes each value on demand, without a table. Any
/// thread can read any position of any epoch's order, and no shuffle has to run first.
///
/// Generalized Feistel network with cycle walking: Black and Rogaway, "Ciphers with Arbitrary
/// Finite Domains", CT-RSA 2002.
#pragma once

#include "core/random.hpp"

#include <array>
#include <cmath>
#include <cstdint>

namespace troupe::data {

class Permutation {
public:
  /// 1 <= size < 2^62. Different keys give unrelated permutations.
  Permutation(std::int64_t size, std::uint64_t key)
      : size_{static_cast<std::uint64_t>(size)}, side_{static_cast<std::uint64_t>(
                                                     std::sqrt(static_cast<double>(size)))} {
    while (side_ * side_ < size_) // the root was rounded down
      ++side_;
    CounterRng rng{key, 0};
    for (auto& round_key : keys_) {
      const std::uint64_t high = rng.next();
      round_key = high << 32 | rng.next();
    }
  }

  /// Returns the value at position `place` of [0, size). Each value in [0, size) occurs once.
  TROUPE_HOST_DEVICE std::int64_t operator()(std::int64_t place) const {
    auto value = static_cast<std::uint64_t>(place);
    do { // the network permutes [0, side²), barely more than size: few values need a second walk
      value = rounds(value);
    } while (value >= size_);
    return static_cast<std::int64_t>(value);
  }

private:
  static constexpr int round_count = 8;

  TROUPE_HOST_DEVICE std::uint64_t rounds(std::uint64_t value) const {
    std::uint64_t left = value / side_, right = value % side_;
    for (int round = 0; round < round_count; ++round) {
      const std::uint64_t sum =
          left + below_side(mix(right ^ keys_[static_cast<std::size_t>(round)]));
      left = right;
      right = sum >= side_ ? sum - side_ : sum;
    }
    return left * side_ + right;
  }
  /// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
  TROUPE_HOST_DEVICE static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// [0, 2^32) scaled to [0, side); side < 2^31.
  TROUPE_HOST_DEVICE std::uint64_t below_side(std::uint64_t word) const {
    return ((word >> 32) * side_) >> 32;
  }

  std::uint64_t size_;
  std::uint64_t side_; ///< smallest integer whose square is at least size
  std::array<std::uint64_t, round_count> keys_ = {};
};

} // namespace troupe::data
