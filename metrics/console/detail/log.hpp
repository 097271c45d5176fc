/// The program's log: one logger, handed to whoever needs it.
#pragma once

#include "metrics/console/detail/screen.hpp"

#include <spdlog/logger.h>

#include <cstdint>
#include <memory>

namespace troupe::metrics {

enum class LogFormat : std::uint8_t { text, json };

/// text: "12:30:05 warning: ..." in local time, to stderr from warnings on.
/// json: {"time": ..., "level": ..., "event": "log", "message": ...} in UTC, all to stdout. The
/// screen must outlive the logger. `also` gets all lines of its own level, whatever `level` is.
std::shared_ptr<spdlog::logger> make_logger(Screen& screen, LogFormat format,
                                            spdlog::level::level_enum level = spdlog::level::info,
                                            const spdlog::sink_ptr& also = nullptr);

} // namespace troupe::metrics
