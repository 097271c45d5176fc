#include "data/file_notes.hpp"

#include <utility>

namespace troupe::data {

void FileNotes::add(std::int64_t index, std::string line) {
  const std::lock_guard lock{mutex_};
  if (!files_.insert(index).second)
    return;
  if (files_.size() <= most_named)
    lines_.push_back(std::move(line));
  else if (files_.size() == most_named + 1)
    lines_.push_back(others_);
}

std::int64_t FileNotes::files() const {
  const std::lock_guard lock{mutex_};
  return static_cast<std::int64_t>(files_.size());
}

std::vector<std::string> FileNotes::take_lines() {
  const std::lock_guard lock{mutex_};
  return std::exchange(lines_, {});
}

} // namespace troupe::data
