/// Counter-based random numbers: the n-th number of a key is a pure function of (key, n), so
/// results depend neither on threads nor on ranks. Philox4x32-10 of Salmon et al., "Parallel Random
/// Numbers: As Easy as 1, 2, 3", SC'11.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "core/host_and_device.hpp"

namespace troupe {

using PhiloxBlock = std::array<std::uint32_t, 4>;

inline constexpr int philox_rounds = 10;
inline constexpr std::uint32_t philox_factor_0 = 0xD2511F53u, philox_factor_1 = 0xCD9E8D57u;
inline constexpr std::uint32_t philox_key_step_0 = 0x9E3779B9u, philox_key_step_1 = 0xBB67AE85u;

/// Four independent 32-bit words for a 128-bit counter and a 64-bit key.
TROUPE_HOST_DEVICE inline PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < philox_rounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{philox_factor_0} * counter[0];
    const std::uint64_t p1 = std::uint64_t{philox_factor_1} * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += philox_key_step_0;
    k1 += philox_key_step_1;
  }
  return counter;
}

/// A sequence of numbers from one (key, stream), counted from 0. Copyable; the position is its only
/// state.
class CounterRng {
public:
  TROUPE_HOST_DEVICE CounterRng(std::uint64_t key, std::uint64_t stream)
      : key_{key}, stream_{stream} {}

  TROUPE_HOST_DEVICE std::uint32_t next() {
    if (used_ == 4) {
      block_ = philox(
          {static_cast<std::uint32_t>(position_), static_cast<std::uint32_t>(position_ >> 32),
           static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
          key_);
      ++position_;
      used_ = 0;
    }
    return block_[used_++];
  }
  /// Uniform in [0, 1).
  TROUPE_HOST_DEVICE float uniform() { return static_cast<float>(next() >> 8) * 0x1p-24f; }
  /// Uniform in [0, bound), bound > 0; the bias (multiply-shift) is below bound / 2^32.
  TROUPE_HOST_DEVICE std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((std::uint64_t{next()} * bound) >> 32);
  }
  /// Standard normal (Box-Muller).
  TROUPE_HOST_DEVICE float normal() {
    const float u = 1.0f - uniform(), v = uniform();
    return std::sqrt(-2.0f * std::log(u)) * std::cos(6.283185307f * v);
  }

private:
  std::uint64_t key_, stream_, position_ = 0;
  PhiloxBlock block_ = {};
  std::uint32_t used_ = 4;
};

} // namespace troupe
