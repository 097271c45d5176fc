#include "linger.hpp"

#include "troupe/core/units.hpp"

#include <thread>

namespace troupe::actors {

namespace {

constexpr std::chrono::milliseconds between_looks{50};

} // namespace

void linger(const metrics::Exposition& exposition, Drain& drain, std::chrono::milliseconds longest,
            spdlog::logger& log) {
  const bool asked = drain.asked_within({});
  const auto end = std::chrono::steady_clock::now() + longest;
  if (exposition.is_awaited())
    log.info("waiting for Prometheus to see the end, {} at most", format_duration(longest));
  while (exposition.is_awaited() && std::chrono::steady_clock::now() < end)
    if (asked)
      std::this_thread::sleep_for(between_looks);
    else if (drain.asked_within(between_looks))
      return;
}

} // namespace troupe::actors
