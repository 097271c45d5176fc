/// The files of lines of a run as other nodes keep them, each of which may lead one day: the leader
/// reads parts of its own, and they append them to their copy.
#pragma once

#include "core/error.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

namespace troupe::metrics {

/// How much of each file there is, in bytes, of one opening of the run's folder: what is opened
/// again may have lost its end.
struct HistoryPlace {
  std::string opening;
  std::array<std::int64_t, 4> bytes = {}; ///< by run_files: steps, epochs, recoveries, samples

  template <class Inspector>
  friend bool inspect(Inspector& f, HistoryPlace& x) {
    return f.object(x).fields(f.field("opening", x.opening), f.field("bytes", x.bytes));
  }
};

/// Bytes of one of the files.
struct HistoryChunk {
  std::string opening;
  std::int32_t file = 0;
  std::int64_t at = 0;
  std::string bytes;

  template <class Inspector>
  friend bool inspect(Inspector& f, HistoryChunk& x) {
    return f.object(x).fields(f.field("opening", x.opening), f.field("file", x.file),
                              f.field("at", x.at), f.field("bytes", x.bytes));
  }
};

/// What the files of a run's folder have that somebody lacks; no bytes: nothing, or they cannot be
/// read now. Blocks on files.
HistoryChunk read_history(const std::filesystem::path& run, const std::string& opening,
                          const HistoryPlace& there);

/// A copy in a folder of its own. Blocks on files.
class KeptHistory {
public:
  /// RUN/.history
  explicit KeptHistory(const std::filesystem::path& run);

  const HistoryPlace& place() const { return place_; }
  /// Appends; of another opening, from its begin on. Errors: io, no_space.
  Status add(const HistoryChunk& part);
  /// Its files become those of the run's folder. Errors: io.
  Status hand_over() const;
  void remove() const;

private:
  std::filesystem::path run_, folder_;
  HistoryPlace place_;
};

} // namespace troupe::metrics
