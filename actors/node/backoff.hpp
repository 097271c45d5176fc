/// Pauses before another attempt to reach a daemon, or to take part in a job.
#pragma once

#include "core/random.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace troupe::actors {

/// Pauses between attempts to reach a daemon that may not run yet. Each is 1.5 times as long as the
/// last one, up to 3 s, plus or minus a quarter, so that daemons that started together do not ask
/// together.
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

/// How long a node that was left out waits before it asks to take part again. Doubles from five
/// detection timeouts (10 s by default) to thirty times that (5 min). Starts again from the first
/// delay if the node was not left out for twice the longest delay.
class ReturnDelay {
public:
  using Clock = std::chrono::steady_clock;

  explicit ReturnDelay(std::chrono::milliseconds detection) : first_{5 * detection} {}

  std::chrono::milliseconds next(Clock::time_point now) {
    const auto most = 30 * first_;
    const bool is_again = delay_.count() > 0 && now < left_out_ + delay_ + 2 * most;
    delay_ = is_again ? std::min(2 * delay_, most) : first_;
    left_out_ = now;
    return delay_;
  }

private:
  std::chrono::milliseconds first_, delay_{0}; ///< delay_: the last delay; 0: none yet
  Clock::time_point left_out_;                 ///< when the node was last left out
};

} // namespace troupe::actors
