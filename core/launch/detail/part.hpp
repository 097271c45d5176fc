/// The values of a launcher's variables, under the same names for all launchers.
#pragma once

#include "core/launch/detail/variables.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// More than any job has.
inline constexpr std::int64_t most_processes = 1 << 20;

struct Part {
  std::int64_t rank = 0, size = 1;
  std::int64_t local_rank = 0, local_size = 1;
  std::string leader;     ///< host of rank 0
  std::uint16_t port = 0; ///< default port on which rank 0 listens
  std::string host = {};  ///< this process's host; empty: unknown
  /// The variables that these values come from.
  std::string size_from, leader_from, local_size_from;
};

Result<Part> read_torchrun(const Variables& variables);
Result<Part> read_slurm(const Variables& variables);

} // namespace troupe
