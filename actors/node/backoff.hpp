/// Pauses between attempts to reach a daemon that may not run yet.
#pragma once

#include "core/random.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace troupe::actors {

/// Each pause is 1.5 times as long as the last one, up to 3 s, plus or minus a quarter, so that
/// daemons that started together do not ask together.
class Backoff {
public:
  static constexpr std::chrono::milliseconds first{250}, longest{3000};

  explicit Backoff(std::uint64_t seed) : jitter_{seed, 0} {}

  std::chrono::milliseconds next() {
    const auto pause = pause_;
    pause_ = std::min(longest, pause * 3 / 2);
    return pause * 3 / 4 + std::chrono::milliseconds{jitter_.next() %
                                                     static_cast<std::uint32_t>(pause.count() / 2)};
  }

private:
  CounterRng jitter_;
  std::chrono::milliseconds pause_ = first;
};

} // namespace troupe::actors
