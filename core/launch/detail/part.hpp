/// The values of a launcher's variables, under the same names for all launchers.
#pragma once

#include "core/launch/detail/variables.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// More than any job has.
inline constexpr std::int64_t most_processes = 1 << 20;

/// The leader has its default port. `launcher` and `values` are not set yet.
struct Part : LaunchedProcess {
  std::string host; ///< this process's host; empty: unknown
  /// The variables that these values come from.
  std::string size_from, leader_from, local_size_from;
};

Result<Part> read_torchrun(const Variables& variables);
Result<Part> read_slurm(const Variables& variables);

} // namespace troupe
