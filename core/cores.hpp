/// The processor cores that this process may use.
#pragma once

#include "core/cgroups.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

struct UsableCores {
  int allowed = 1; ///< cores that the process's affinity contains (taskset, cpusets)
  /// Processor time that control groups grant, in cores: the tightest CPU quota (docker --cpus).
  std::optional<double> quota = {};

  /// The smaller of the two; a fraction of a core counts as one, so that the quota is used up.
  int count() const;
};

/// Looked up now: both may change while a process runs. Reads a few small files.
UsableCores usable_cores(const SystemFiles& files = {});

/// "2 usable of 64 (affinity: 8, CPU quota of the control group: 1.5)".
std::string describe_cores(const UsableCores& usable, std::int64_t installed);

} // namespace troupe
