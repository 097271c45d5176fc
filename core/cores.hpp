/// The processor cores that this process may use, and a check that it can start threads.
#pragma once

#include "core/cgroups.hpp"
#include "core/error.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

struct UsableCores {
  int allowed = 1; ///< cores in the process's affinity mask (taskset, cpusets)
  /// Processor time that control groups grant, in cores: the tightest CPU quota (docker --cpus).
  std::optional<double> quota = {};

  /// The smaller of the two. A fraction of a core is rounded up, so that the whole quota is used.
  int count() const;
};

/// Reads the current values from a few small files; both may change while a process runs.
UsableCores usable_cores(const SystemFiles& files = {});

/// Returns "2 usable of 64 (affinity: 8, CPU quota of the control group: 1.5)".
std::string describe_cores(const UsableCores& usable, std::int64_t installed);

/// Starts this many threads at the same time and ends them again. OpenMP and CAF end the process
/// when the system refuses them a thread, so callers check before they use either. Errors:
/// unsupported when the system refuses, with the number of threads that could be started and the
/// limits to raise.
Status expect_threads(int count);

} // namespace troupe
