/// Rows of a timeline (trace.hpp), and the spans in them.
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
  std::string_view subject = {}; ///< of what: "layer1.0"; may be empty
  std::int64_t step = -1;        ///< negative: none
  std::uint64_t bytes = 0;       ///< moved; 0: none
};

/// An end of a span: on the steady clock, or when a device gets there.
using Moment = std::variant<std::chrono::nanoseconds, EventPtr>;

class Span;

/// One row of the timeline. As made by default it is off, and also while nobody wants its trace:
/// spans then record nothing and cost two loads. Thread-safe. Spans of one row that overlap must
/// nest.
class Track {
public:
  Track() = default;
  bool on() const { return wanted_ && wanted_->load(std::memory_order_relaxed); }
  /// What the stream runs of all that is enqueued while the span lives. Stream and label must live
  /// as long. On CUDA it is an NVTX range too.
  [[nodiscard]] Span span(Stream& stream, const SpanLabel& label) const;
  /// What the calling thread does while the span lives.
  [[nodiscard]] Span span(const SpanLabel& label) const;
  void add(const SpanLabel& label, Moment begin, Moment end) const;

private:
  friend class Trace;
  struct State;
  Track(std::shared_ptr<State> trace, std::size_t row);

  std::shared_ptr<State> trace_;              ///< null: off
  const std::atomic<bool>* wanted_ = nullptr; ///< the trace's; null: off
  std::size_t row_ = 0;
};

/// Made by a Track; ends with its scope.
class Span {
public:
  Span() : open_{std::nullopt} {} // not all of it has to be zero
  Span(const Track& track, Stream* stream, const SpanLabel& label);
  ~Span() { open_ ? end() : void(); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

private:
  struct Open {
    Track track;
    Stream* stream; ///< null: of the calling thread
    SpanLabel label;
    Moment begin;
  };
  void end();

  std::optional<Open> open_; ///< empty: of a track that is off
};

inline Span Track::span(Stream& stream, const SpanLabel& label) const {
  return on() ? Span{*this, &stream, label} : Span{};
}
inline Span Track::span(const SpanLabel& label) const {
  return on() ? Span{*this, nullptr, label} : Span{};
}

} // namespace troupe::metrics
