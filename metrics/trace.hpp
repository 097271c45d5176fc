/// A timeline of a run: what each stream and each actor does, and when. It is written to a file in
/// the Trace Event format (Google, 2016; its array of JSON objects), which ui.perfetto.dev opens.
/// The live page of the run shows its last step.
#pragma once

#include "metrics/timeline.hpp"
#include "metrics/track.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>

namespace troupe::metrics {

/// Bounds of memory and disk. Spans beyond them are dropped; the file contains their number.
struct TraceLimits {
  std::size_t waiting = 100'000;   ///< not yet written
  std::size_t written = 2'000'000; ///< about 300 MB
};

/// Owns the tracks. Off by default. A handle: copies refer to the same trace.
class Trace {
public:
  Trace() = default;
  /// Writes to a temporary file beside `path` (AtomicFile). A killed process leaves the temporary
  /// file, which can be opened as it is. Errors: io, no_space.
  static Result<Trace> create(const std::filesystem::path& path, const TraceLimits& limits = {});
  /// Without a file: records only while watched.
  static Trace unwritten();

  /// Adds a row to the group of this name ("rank 0"). Rows are shown in the order of the calls.
  Track track(std::string_view group, std::string_view name) const;
  /// Writes the spans that have ended. Blocks on the disk.
  Status flush() const;
  /// Writes the spans that have ended and renames the file to its path. Call once, after all
  /// streams are drained.
  Status close() const;

  /// Sets whether the newest spans are kept for take().
  void watch(bool wanted) const;
  /// Returns the spans between these times of the steady clock (RecentSpans::take); empty if the
  /// trace is off. Does not wait for devices.
  Timeline take(std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                std::size_t most_spans) const;

private:
  std::shared_ptr<Track::State> state_; ///< null: off
};

} // namespace troupe::metrics
