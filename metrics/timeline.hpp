/// A piece of a timeline, to be looked at.
#pragma once

#include "metrics/track.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::metrics {

struct TimelineSpan {
  double begin, seconds; ///< from the piece's begin on
  SpanKind kind;
  std::string name; ///< "forward layer1.0"
};

struct TimelineRow {
  std::string group, name; ///< "rank 0", "compute"
  std::vector<TimelineSpan> spans;
};

/// From the moment in which one step was committed to that of the next one.
struct Timeline {
  std::int64_t step = 0;
  double seconds = 0;
  std::vector<TimelineRow> rows; ///< those in which anything lies
  std::int64_t dropped = 0;      ///< spans for which there was no room
};

} // namespace troupe::metrics
