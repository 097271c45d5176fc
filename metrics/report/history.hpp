/// Replication of a run's line files to other nodes, each of which may become leader. The leader
/// reads chunks of its files, and the other nodes append them to their copies.
#pragma once

#include "core/error.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>

namespace troupe::metrics {

/// How many bytes of each file a copy has, for one opening of the run's folder. A file that is
/// opened again may have lost its end.
struct HistoryPlace {
  std::string opening;
  std::array<std::int64_t, 4> bytes = {}; ///< by run_files: steps, epochs, recoveries, samples

  auto fields() { return std::tie(opening, bytes); }
};

/// A chunk of one of the files.
struct HistoryChunk {
  std::string opening;
  std::int32_t file = 0;
  std::int64_t at = 0;
  std::string bytes;

  auto fields() { return std::tie(opening, file, at, bytes); }
};

/// Returns the next chunk that the copy `there` lacks; without bytes if it lacks nothing or the
/// files cannot be read now. Blocks on files.
HistoryChunk read_history(const std::filesystem::path& run, const std::string& opening,
                          const HistoryPlace& there);

/// A copy of the files, in a folder of its own. Blocks on files.
class KeptHistory {
public:
  /// RUN/.history
  explicit KeptHistory(const std::filesystem::path& run);

  const HistoryPlace& place() const { return place_; }
  /// Appends a chunk. A chunk of another opening replaces the whole copy. Errors: io, no_space.
  Status add(const HistoryChunk& part);
  /// Moves the copies to the run's folder. Errors: io, no_space.
  Status hand_over() const;
  void remove() const;

private:
  std::filesystem::path run_, folder_;
  HistoryPlace place_;
};

} // namespace troupe::metrics
