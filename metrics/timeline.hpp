/// A section of a timeline, for display.
#pragma once

#include "metrics/track.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::metrics {

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

} // namespace troupe::metrics
