#include "data/file_notes.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe::data {

void FileNotes::add(std::int64_t index, const std::string& message) {
  const std::lock_guard lock{mutex_};
  ++samples_;
  if (!files_.insert(index).second)
    return;
  if (files_.size() <= most_named)
    lines_.push_back(what_ + message);
  else if (files_.size() == most_named + 1)
    lines_.push_back(others_);
}

FileNotes::Counts FileNotes::counts() const {
  const std::lock_guard lock{mutex_};
  return {samples_, static_cast<std::int64_t>(files_.size())};
}

std::vector<std::string> FileNotes::take_lines() {
  const std::lock_guard lock{mutex_};
  return std::exchange(lines_, {});
}

std::shared_ptr<FileNotes> unreadable_files() {
  return std::make_shared<FileNotes>(
      "skipped (data.skip_unreadable): ",
      fmt::format("more than {} files cannot be read: further files are only counted; `troupe data "
                  "check` lists all",
                  FileNotes::most_named));
}

std::shared_ptr<FileNotes> damaged_files() {
  return std::make_shared<FileNotes>(
      "damaged, but read: ",
      fmt::format("more than {} files are damaged; `troupe data check` lists all",
                  FileNotes::most_named));
}

} // namespace troupe::data
