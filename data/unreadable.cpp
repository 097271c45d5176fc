#include "unreadable.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe::data {

void UnreadableFiles::add(std::int64_t index, const Error& error) {
  const std::lock_guard lock{mutex_};
  ++samples_;
  if (!files_.insert(index).second)
    return;
  if (files_.size() <= most_named)
    lines_.push_back(fmt::format("skipped (data.skip_unreadable): {}", error.message));
  else if (files_.size() == most_named + 1)
    lines_.push_back(fmt::format("more than {} files cannot be read: those that follow are only "
                                 "counted; `troupe data check` finds all",
                                 most_named));
}

UnreadableFiles::Counts UnreadableFiles::counts() const {
  const std::lock_guard lock{mutex_};
  return {samples_, static_cast<std::int64_t>(files_.size())};
}

std::vector<std::string> UnreadableFiles::take_lines() {
  const std::lock_guard lock{mutex_};
  return std::exchange(lines_, {});
}

} // namespace troupe::data
