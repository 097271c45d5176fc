/// The program's logger.
#pragma once

#include "metrics/console/detail/screen.hpp"

#include <spdlog/logger.h>

#include <cstdint>
#include <memory>

namespace troupe::metrics {

enum class LogFormat : std::uint8_t { text, json };

/// Creates the logger. text: "12:30:05 warning: ..." in local time; warnings and errors go to
/// stderr, the rest to stdout. json: {"time": ..., "level": ..., "event": "log", "message": ...} in
/// UTC, all to stdout. The screen must outlive the logger. The sink `also` filters by its own
/// level, independent of `level`.
std::shared_ptr<spdlog::logger> make_logger(Screen& screen, LogFormat format,
                                            spdlog::level::level_enum level = spdlog::level::info,
                                            const spdlog::sink_ptr& also = nullptr);

} // namespace troupe::metrics
