/// Delays the end of a process until Prometheus has scraped its final state.
#pragma once

#include "actors/node/drain.hpp"
#include "actors/node/waits.hpp"
#include "metrics/exposition.hpp"

#include <spdlog/logger.h>

#include <chrono>

namespace troupe::actors {

/// Returns when the final state has been scraped, after `longest`, or at the first request to stop.
/// Returns at once if no scrape has come before.
void linger(const metrics::Exposition& exposition, Drain& drain, std::chrono::milliseconds longest,
            spdlog::logger& log, Waits& waits);

} // namespace troupe::actors
