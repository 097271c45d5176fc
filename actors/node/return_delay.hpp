/// How long a node that was left out waits before it asks to take part again.
#pragma once

#include <algorithm>
#include <chrono>

namespace troupe::actors {

/// Doubles from five detection timeouts (10 s by default) to thirty times that (5 min). Starts
/// again from the first delay if the node was not left out for twice the longest delay.
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
