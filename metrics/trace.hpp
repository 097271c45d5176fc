/// A timeline of a run: what each stream and each actor does, and when. It is written to a file, in
/// the Trace Event format (Google, 2016; its array of JSON objects), which ui.perfetto.dev opens;
/// and a page that follows the run shows its last step.
#pragma once

#include "metrics/timeline.hpp"
#include "metrics/track.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>

namespace troupe::metrics {

/// Bounds of memory and disk. Spans beyond them are dropped, and the file says how many.
struct TraceLimits {
  std::size_t waiting = 100'000;   ///< not yet written
  std::size_t written = 2'000'000; ///< about 300 MB
};

/// What is behind all tracks; as made by default it is off. A handle: copies are the same trace.
class Trace {
public:
  Trace() = default;
  /// Writes to a temporary file beside `path` (AtomicFile); a process that is killed leaves that
  /// one, which can be opened as it is. Errors: io, no_space.
  static Result<Trace> create(const std::filesystem::path& path, const TraceLimits& limits = {});
  /// Without a file: records only while it is watched.
  static Trace unwritten();

  /// A row, in the group of rows of that name ("rank 0"). Rows stand in the order of this call.
  Track track(std::string_view group, std::string_view name) const;
  /// Writes the spans that have ended. Touches the disk.
  Status flush() const;
  /// Writes what has ended and gives the file its name. Once, when all streams are drained.
  Status close() const;

  /// Whether the newest spans are kept for take().
  void watch(bool wanted) const;
  /// What lies between these moments of the steady clock (RecentSpans::take); empty of a trace that
  /// is off. Waits for no device.
  Timeline take(std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                std::size_t most_spans) const;

private:
  std::shared_ptr<Track::State> state_; ///< null: off
};

} // namespace troupe::metrics
