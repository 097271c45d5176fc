/// Resource usage of this process, as reported by Linux.
#pragma once

#include <optional>

namespace troupe::metrics {

struct ProcessUse {
  double cpu_seconds = 0; ///< user and system
  double resident_bytes = 0, virtual_bytes = 0;
  double start_time = 0; ///< Unix time, seconds
  double threads = 0;
  double open_files = 0, most_files = 0;
};

/// Reads /proc/self; too slow for frequent calls. Returns empty if it cannot be read.
std::optional<ProcessUse> process_use();

} // namespace troupe::metrics
