#include "actors/roles/detail/write_errors.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace troupe::actors {

void WriteErrors::warn(const Status& written) {
  if (written || std::exchange(warned_, true))
    return;
  log_->warn("the run's logs will be incomplete: {}", written.error().to_string());
}

void WriteErrors::lose(const Status& written) {
  warn(written);
  if (!written && !lost_)
    lost_ = written.error();
}

void WriteErrors::lose_line(const Status& written) {
  if (!written && written.error().code == Errc::no_space)
    warn(written);
  else
    lose(written);
}

} // namespace troupe::actors
