#include "actors/node/linger.hpp"

#include "core/units.hpp"

#include <thread>

namespace troupe::actors {

namespace {

constexpr std::chrono::milliseconds between_looks{50};

} // namespace

void linger(const metrics::Exposition& exposition, Drain& drain, std::chrono::milliseconds longest,
            spdlog::logger& log, Waits& waits) {
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
