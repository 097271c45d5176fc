/// The program's logger, and sinks of its messages.
#pragma once

#include "metrics/console/detail/screen.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace troupe::metrics {

/// Passes messages to a function, without a lock: it must be thread-safe.
class LogSink final : public spdlog::sinks::sink {
public:
  using Take = std::function<void(const spdlog::details::log_msg&)>;

  explicit LogSink(Take take) : take_{std::move(take)} {}

  void log(const spdlog::details::log_msg& message) override { take_(message); }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

private:
  const Take take_;
};

enum class LogFormat : std::uint8_t { text, json };

/// Creates the logger. text: "12:30:05 warning: ..." in local time; warnings and errors go to
/// stderr, the rest to stdout. json: {"time": ..., "level": ..., "event": "log", "message": ...} in
/// UTC, all to stdout. The screen must outlive the logger. The sink `also` filters by its own
/// level, independent of `level`.
std::shared_ptr<spdlog::logger> make_logger(Screen& screen, LogFormat format,
                                            spdlog::level::level_enum level = spdlog::level::info,
                                            const spdlog::sink_ptr& also = nullptr);

} // namespace troupe::metrics
