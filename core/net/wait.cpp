#include "core/net/wait.hpp"

#include <algorithm>
#include <cerrno>

namespace troupe::net {

using std::chrono::milliseconds;

milliseconds time_until(std::chrono::steady_clock::time_point end) {
  const auto now = std::chrono::steady_clock::now();
  return end > now ? std::chrono::ceil<milliseconds>(end - now) : milliseconds{0};
}

bool wait_until(std::span<pollfd> descriptors, std::chrono::steady_clock::time_point end) {
  constexpr milliseconds longest = std::chrono::hours{1}; // poll(2) counts in int
  while (true) {
    const auto left = time_until(end);
    const auto limit = static_cast<int>(std::min(left, longest).count());
    const int ready = ::poll(descriptors.data(), descriptors.size(), limit);
    if (ready > 0)
      return true;
    if ((ready == 0 && left <= longest) || (ready < 0 && errno != EINTR))
      return false;
  }
}

} // namespace troupe::net
