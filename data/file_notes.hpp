/// Log lines about single files of a data set: one line per file, up to a maximum number of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace troupe::data {

/// Notes on one data set since this process opened it. Thread-safe.
class FileNotes {
public:
  static constexpr std::size_t most_named = 20;

  /// `others` is the line for the first file past the maximum.
  explicit FileNotes(std::string others) : others_{std::move(others)} {}

  /// Adds a line for the file of sample `index`, unless one exists.
  void add(std::int64_t index, std::string line);
  std::int64_t files() const;
  /// Returns the lines since the last call.
  std::vector<std::string> take_lines();

private:
  mutable std::mutex mutex_;
  std::string others_;
  std::set<std::int64_t> files_; ///< samples that were noted
  std::vector<std::string> lines_;
};

} // namespace troupe::data
