/// Passes log lines to a callback.
#pragma once

#include "metrics/report/run_document.hpp"

#include <spdlog/sinks/sink.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace troupe::metrics {

/// Takes no lock: the callback must be thread-safe.
class LogLines : public spdlog::sinks::sink {
public:
  explicit LogLines(std::function<void(LogLine)> take) : take_{std::move(take)} {}

  void log(const spdlog::details::log_msg& message) override;
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

private:
  std::function<void(LogLine)> take_;
};

} // namespace troupe::metrics
