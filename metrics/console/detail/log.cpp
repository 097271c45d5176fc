#include "metrics/console/detail/log.hpp"

#include "core/escape.hpp"
#include "metrics/json_values.hpp"
#include "metrics/log_sink.hpp"
#include "metrics/time_stamp.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <string>

namespace troupe::metrics {

namespace {

std::string_view level_name(spdlog::level::level_enum level) {
  const auto name = spdlog::level::to_string_view(level);
  return {name.data(), name.size()};
}

std::string as_text(const spdlog::details::log_msg& message) {
  const auto time = fmt::localtime(std::chrono::system_clock::to_time_t(message.time));
  const auto text = escaped_lines({message.payload.data(), message.payload.size()});
  if (message.level == spdlog::level::info)
    return fmt::format("{:%H:%M:%S} {}", time, text);
  return fmt::format("{:%H:%M:%S} {}: {}", time, level_name(message.level), text);
}

std::string as_json(const spdlog::details::log_msg& message) {
  return dumped({{"time", utc_milliseconds(message.time)},
                 {"level", level_name(message.level)},
                 {"event", "log"},
                 {"message", std::string_view(message.payload.data(), message.payload.size())}});
}

/// The screen locks, and flushes each line.
void write(Screen& screen, LogFormat format, const spdlog::details::log_msg& message) {
  if (format == LogFormat::json)
    return screen.write_line(Screen::Target::out, as_json(message));
  screen.write_line(message.level >= spdlog::level::warn ? Screen::Target::err
                                                         : Screen::Target::out,
                    as_text(message));
}

} // namespace

std::shared_ptr<spdlog::logger> make_logger(Screen& screen, LogFormat format,
                                            spdlog::level::level_enum level,
                                            const spdlog::sink_ptr& also) {
  const auto shown = std::make_shared<LogSink>(
      [&screen, format](const auto& message) { write(screen, format, message); });
  shown->set_level(level);
  auto logger = std::make_shared<spdlog::logger>("troupe", shown);
  if (also) {
    logger->sinks().push_back(also);
    level = std::min(level, also->level());
  }
  logger->set_level(level);
  return logger;
}

} // namespace troupe::metrics
