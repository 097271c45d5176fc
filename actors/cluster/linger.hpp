/// The end of a process that Prometheus watches.
#pragma once

#include "drain.hpp"
#include "waits.hpp"

#include "troupe/metrics/http/exposition.hpp"

#include <spdlog/logger.h>

#include <chrono>

namespace troupe::actors {

/// Returns when the exposition's end has been scraped, when `longest` has passed, or when somebody
/// asks to stop for the first time. Returns at once where nobody scrapes.
void linger(const metrics::Exposition& exposition, Drain& drain, std::chrono::milliseconds longest,
            spdlog::logger& log, Waits& waits);

} // namespace troupe::actors
