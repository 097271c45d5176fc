/// Errors of writing a run's files.
#pragma once

#include "core/error.hpp"

#include <spdlog/logger.h>

#include <memory>
#include <optional>
#include <utility>

namespace troupe::actors {

/// A run continues when its disk cannot be written, and fails at its end if something was lost.
class WriteErrors {
public:
  explicit WriteErrors(std::shared_ptr<spdlog::logger> log) : log_{std::move(log)} {}

  /// Logs the first error.
  void warn(const Status& written) {
    if (!written && !std::exchange(warned_, true))
      log_->warn("the run's logs will be incomplete: {}", written.error().to_string());
  }
  /// Also notes that something was lost.
  void lose(const Status& written) {
    warn(written);
    if (!written && !lost_)
      lost_ = written.error();
  }
  /// Like lose(), but a line for which the disk has no space is not lost: it is written later.
  void lose_line(const Status& written) {
    if (!written && written.error().code == Errc::no_space)
      warn(written);
    else
      lose(written);
  }

  /// The first error with which something was lost.
  const std::optional<Error>& lost() const { return lost_; }

private:
  std::shared_ptr<spdlog::logger> log_;
  std::optional<Error> lost_;
  bool warned_ = false;
};

} // namespace troupe::actors
