#include "metrics/live/detail/log_lines.hpp"

#include <string_view>

namespace troupe::metrics {

void LogLines::log(const spdlog::details::log_msg& message) {
  const auto level = spdlog::level::to_string_view(message.level);
  take_({.time = message.time,
         .level = std::string(level.data(), level.size()),
         .text = std::string(message.payload.data(), message.payload.size())});
}

} // namespace troupe::metrics
