/// Delays the end of a process until Prometheus has scraped its final state.
#pragma once

#include "actors/node/drain.hpp"
#include "actors/node/waits.hpp"
#include "core/units.hpp"
#include "metrics/exposition.hpp"

#include <spdlog/logger.h>

#include <chrono>
#include <thread>

namespace troupe::actors {

/// Returns when the final state has been scraped, after `longest`, or at the first request to stop.
/// Returns at once if no scrape has come before.
inline void linger(const metrics::Exposition& exposition, Drain& drain,
                   std::chrono::milliseconds longest, spdlog::logger& log, Waits& waits) {
  constexpr std::chrono::milliseconds between_looks{50};
  if (!exposition.is_awaited() || longest.count() == 0)
    return;
  const bool asked = drain.asked_within({});
  auto wait = waits.begin("waiting for Prometheus to scrape the final metrics", longest);
  log.info("{}, for at most {}", wait.status().what, format_duration(longest));
  while (exposition.is_awaited() && !wait.is_over()) {
    if (const auto line = wait.due(); !line.empty())
      log.info("{}", line);
    if (asked)
      std::this_thread::sleep_for(between_looks);
    else if (drain.asked_within(between_looks))
      return;
  }
}

} // namespace troupe::actors
