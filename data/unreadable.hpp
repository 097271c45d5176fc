/// Counts files that could not be read while data.skip_unreadable lets the run continue, and names
/// the first of them. ImageAdapter decides what replaces them in a batch. `troupe predict` instead
/// reports an error for each such input (inference/tolerant_adapter.hpp).
#pragma once

#include "core/error.hpp"
#include "data/file_notes.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe::data {

/// Notes on one data set since this process opened it. Thread-safe.
class UnreadableFiles {
public:
  /// Maximum number of files that are named; the others are only counted.
  static constexpr std::size_t most_named = FileNotes::most_named;

  struct Counts {
    std::int64_t samples = 0; ///< unreadable samples, counted each time a batch needs one
    std::int64_t files = 0;
  };

  UnreadableFiles();

  /// Records that the file of sample `index` could not be read for a batch.
  void add(std::int64_t index, const Error& error);
  Counts counts() const { return {samples_, notes_.files()}; }
  /// Returns the lines since the last call: one for each new file, and one when no more files will
  /// be named.
  std::vector<std::string> take_lines() { return notes_.take_lines(); }

private:
  FileNotes notes_;
  std::atomic<std::int64_t> samples_ = 0;
};

} // namespace troupe::data
