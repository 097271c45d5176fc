/// Log lines about single files of a data set: one line per file, up to a maximum number of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace troupe::data {

/// Notes on one data set since this process opened it. Thread-safe.
class FileNotes {
public:
  /// Maximum number of files that are named; the others are only counted.
  static constexpr std::size_t most_named = 20;

  struct Counts {
    std::int64_t samples = 0; ///< counted each time a batch needs one
    std::int64_t files = 0;
  };

  /// `what` begins each line; `others` is the line for the first file past the maximum.
  FileNotes(std::string what, std::string others)
      : what_{std::move(what)}, others_{std::move(others)} {}

  /// Counts sample `index`, and adds a line for its file unless one exists.
  void add(std::int64_t index, const std::string& message);
  Counts counts() const;
  /// Returns the lines since the last call.
  std::vector<std::string> take_lines();

private:
  mutable std::mutex mutex_;
  std::string what_, others_;
  std::int64_t samples_ = 0;
  std::set<std::int64_t> files_; ///< samples that were noted
  std::vector<std::string> lines_;
};

/// Notes on files that could not be read while data.skip_unreadable lets the run continue.
/// ImageAdapter decides what replaces them in a batch. `troupe predict` instead reports an error
/// for each such input (inference/predict.cpp).
std::shared_ptr<FileNotes> unreadable_files();

/// Notes on damaged files that were read nevertheless.
std::shared_ptr<FileNotes> damaged_files();

} // namespace troupe::data
