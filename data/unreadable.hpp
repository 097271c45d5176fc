/// Files that could not be read, where data.skip_unreadable lets a run go on without them: how
/// many, and the first by name. What stands for them in a batch decides ImageAdapter. `troupe
/// predict` has an error for each of its inputs instead (inference/tolerant_adapter.hpp).
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
  /// So many files are named; of the others only the number is told.
  static constexpr std::size_t most_named = FileNotes::most_named;

  struct Counts {
    std::int64_t samples = 0; ///< that a batch should have had, each time it should
    std::int64_t files = 0;
  };

  UnreadableFiles();

  /// The file of sample `index`, which a batch should have had, could not be read.
  void add(std::int64_t index, const Error& error);
  Counts counts() const { return {samples_, notes_.files()}; }
  /// What there is to say since the last call: a line for each file that is new, and one when no
  /// more will be named.
  std::vector<std::string> take_lines() { return notes_.take_lines(); }

private:
  FileNotes notes_;
  std::atomic<std::int64_t> samples_ = 0;
};

} // namespace troupe::data
