/// The processor cores that this process may use.
#pragma once

#include "core/cgroups.hpp"

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

} // namespace troupe
