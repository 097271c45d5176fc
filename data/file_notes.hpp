/// Lines about single files of a data set for the log: each file once, and only the first by name.
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

  /// `others`: the line for the first file that is not named any more.
  explicit FileNotes(std::string others) : others_{std::move(others)} {}

  /// Notes the file of sample `index`, unless it has been noted before.
  void add(std::int64_t index, std::string line);
  std::int64_t files() const;
  /// Returns the lines since the last call.
  std::vector<std::string> take_lines();

private:
  mutable std::mutex mutex_;
  std::string others_;
  std::set<std::int64_t> files_; ///< by sample
  std::vector<std::string> lines_;
};

} // namespace troupe::data
