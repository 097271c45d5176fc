/// Rows of a timeline (trace.hpp) and their spans.
#pragma once

#include "core/device/device.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

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

} // namespace troupe::metrics
