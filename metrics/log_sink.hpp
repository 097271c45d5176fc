/// A log sink that passes messages to a function.
#pragma once

#include <spdlog/sinks/sink.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace troupe::metrics {

/// Takes no lock: the function must be thread-safe.
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

} // namespace troupe::metrics
