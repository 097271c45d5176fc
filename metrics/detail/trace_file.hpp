/// Writes a timeline to a file.
#pragma once

#include "core/atomic_file.hpp"
#include "metrics/detail/trace_entry.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

/// Thread-safe.
class TraceFile {
public:
  static Result<std::unique_ptr<TraceFile>> create(const std::filesystem::path& path,
                                                   const TraceLimits& limits);

  /// Numbers rows 0, 1, ... in the order of the calls.
  void add_row(std::string_view group, std::string_view name);
  void add(TraceEntry entry);
  Status flush();
  Status close();

private:
  TraceFile(AtomicFile file, const TraceLimits& limits) : limits_{limits}, file_{std::move(file)} {}
  Status write_ended();

  const TraceLimits limits_;
  std::mutex mutex_; ///< guards the members up to `dropped_`
  std::map<std::string, int, std::less<>> groups_;
  std::vector<int> group_of_; ///< by row
  std::string names_;         ///< metadata not yet written
  std::vector<TraceEntry> waiting_;
  std::size_t taken_ = 0, dropped_ = 0;
  std::mutex file_mutex_; ///< lock before `mutex_`
  AtomicFile file_;
};

} // namespace troupe::metrics
