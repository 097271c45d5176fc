/// A timeline of a run: what each stream and each actor does, and when. The file has the Trace
/// Event format (Google, 2016; its array of JSON objects), which ui.perfetto.dev opens.
#pragma once

#include "troupe/core/device.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace troupe::metrics {

enum class SpanKind : std::uint8_t { compute, collective, optimizer, data, handler };

struct SpanLabel {
  SpanKind kind = SpanKind::compute;
  std::string_view name;         ///< "forward", "all_reduce"
  std::string_view subject = {}; ///< of what: "layer1.0"; may be empty
  std::int64_t step = -1;        ///< negative: none
  std::uint64_t bytes = 0;       ///< moved; 0: none
};

/// An end of a span: on the steady clock, or when a device gets there.
using Moment = std::variant<std::chrono::nanoseconds, EventPtr>;

class Span;

/// One row of the timeline. As made by default it is off: spans record nothing and cost a branch.
/// Thread-safe. Spans of one row that overlap must nest.
class Track {
public:
  Track() = default;
  bool on() const { return trace_ != nullptr; }
  /// What the stream runs of all that is enqueued while the span lives. Stream and label must live
  /// as long. On CUDA it is an NVTX range too.
  [[nodiscard]] Span span(Stream& stream, const SpanLabel& label) const;
  /// What the calling thread does while the span lives.
  [[nodiscard]] Span span(const SpanLabel& label) const;
  void add(const SpanLabel& label, Moment begin, Moment end) const;

private:
  friend class Trace;
  struct State;
  Track(std::shared_ptr<State> trace, int group, int row)
      : trace_{std::move(trace)}, group_{group}, row_{row} {}

  std::shared_ptr<State> trace_; ///< null: off
  int group_ = 0, row_ = 0;
};

/// Made by a Track; ends with its scope.
class Span {
public:
  Span() = default;
  Span(Track track, Stream* stream, const SpanLabel& label);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

private:
  Track track_;
  Stream* stream_ = nullptr; ///< null: of the calling thread
  SpanLabel label_;
  Moment begin_;
};

/// Bounds of memory and disk. Spans beyond them are dropped, and the file says how many.
struct TraceLimits {
  std::size_t waiting = 100'000;   ///< not yet written
  std::size_t written = 2'000'000; ///< about 300 MB
};

/// The file behind all tracks; as made by default it is off. A handle: copies are the same trace.
class Trace {
public:
  Trace() = default;
  /// Writes to a temporary file beside `path` (AtomicFile); a process that is killed leaves that
  /// one, which can be opened as it is. Errors: io, no_space.
  static Result<Trace> create(const std::filesystem::path& path, const TraceLimits& limits = {});

  /// A row, in the group of rows of that name ("rank 0"). Rows stand in the order of this call.
  Track track(std::string_view group, std::string_view name) const;
  /// Writes the spans that have ended. Touches the disk.
  Status flush() const;
  /// Writes what has ended and gives the file its name. Once, when all streams are drained.
  Status close() const;

private:
  std::shared_ptr<Track::State> state_; ///< null: off
};

} // namespace troupe::metrics
