/// A timeline of a run: what each stream and each actor does, and when. It is written to a file in
/// the Trace Event format (Google, 2016; its array of JSON objects), which ui.perfetto.dev opens.
/// The live page of the run shows its last step.
#pragma once

#include "core/device/device.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe::metrics {

enum class SpanKind : std::uint8_t { compute, collective, optimizer, data, copy, handler };

inline constexpr std::array<std::string_view, 6> span_kind_names = {
    "compute", "collective", "optimizer", "data", "copy", "handler"};

struct SpanLabel {
  SpanKind kind = SpanKind::compute;
  std::string_view name;         ///< "forward", "all_reduce"
  std::string_view subject = {}; ///< the unit: "layer1.0"; may be empty
  std::int64_t step = -1;        ///< negative: none
  std::uint64_t bytes = 0;       ///< transferred; 0: none
};

/// An end of a span: a time of the steady clock, or an event of a device.
using Moment = std::variant<std::chrono::nanoseconds, EventPtr>;

class Span;

/// One row of the timeline. Off by default, and while its trace is neither written nor watched:
/// spans then record nothing and cost two loads. Thread-safe. Overlapping spans of one row must
/// nest.
class Track {
public:
  Track() = default;
  bool on() const { return wanted_ && wanted_->load(std::memory_order_relaxed); }
  /// Records the execution, on the stream, of all work enqueued while the span lives. Stream and
  /// label must outlive it. On CUDA it is also an NVTX range.
  [[nodiscard]] Span span(Stream& stream, const SpanLabel& label) const;
  /// Records the calling thread while the span lives.
  [[nodiscard]] Span span(const SpanLabel& label) const;
  void add(const SpanLabel& label, Moment begin, Moment end) const;

private:
  friend class Trace;
  struct State;
  Track(std::shared_ptr<State> trace, std::size_t row);

  std::shared_ptr<State> trace_;              ///< null: off
  const std::atomic<bool>* wanted_ = nullptr; ///< the trace's flag; null: off
  std::size_t row_ = 0;
};

/// Created by a Track; ends with its scope.
class Span {
public:
  Span() : open_{std::nullopt} {} // avoids zeroing all of it
  Span(const Track& track, Stream* stream, const SpanLabel& label);
  ~Span() { open_ ? end() : void(); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

private:
  struct Open {
    Track track;
    Stream* stream; ///< null: the calling thread
    SpanLabel label;
    Moment begin;
  };
  void end();

  std::optional<Open> open_; ///< empty: the track is off
};

inline Span Track::span(Stream& stream, const SpanLabel& label) const {
  return on() ? Span{*this, &stream, label} : Span{};
}
inline Span Track::span(const SpanLabel& label) const {
  return on() ? Span{*this, nullptr, label} : Span{};
}

struct TimelineSpan {
  double begin, seconds; ///< from the start of the section
  SpanKind kind;
  std::string name; ///< "forward layer1.0"
};

struct TimelineRow {
  std::string group, name; ///< "rank 0", "compute"
  std::vector<TimelineSpan> spans;
};

/// The time from the commit of one step to the commit of the next.
struct Timeline {
  std::int64_t step = 0;
  double seconds = 0;
  std::vector<TimelineRow> rows; ///< only rows with spans
  std::int64_t dropped = 0;      ///< spans that did not fit
};

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
  /// Returns the spans between these times of the steady clock, clipped to them; if there are more
  /// than `most_spans`, the longest ones. Does not wait: skips spans that a device has not
  /// finished. Forgets spans that ended by `end`. Empty if the trace is off.
  Timeline take(std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                std::size_t most_spans) const;

private:
  std::shared_ptr<Track::State> state_; ///< null: off
};

} // namespace troupe::metrics
