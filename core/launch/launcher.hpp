/// What started a process as one of many (torchrun, SLURM's srun), and what follows from its
/// variables for the config.
#pragma once

#include "core/config/load.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The value of a variable; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// A process's part in a job.
struct LaunchedProcess {
  std::string launcher; ///< "torchrun", "slurm"
  std::int64_t rank = 0, size = 1;
  std::int64_t local_rank = 0, local_size = 1; ///< of those on this host
  Endpoint leader;                             ///< where the process of rank 0 listens
  std::vector<GivenValue> values;              ///< cluster.join and others

  bool is_alone_here() const { return local_size == 1; }
};

/// What --launcher takes beside "none".
const std::vector<std::string>& launcher_names();

/// By the launcher's name; "auto": by whichever has set its variables, torchrun before SLURM, which
/// may have started torchrun. `port`: where the leader is to listen; without, one is taken that all
/// processes know. Errors: invalid_input, with the variables that are missing or do not fit
/// together; network, where this host has no way to the leader's.
Result<LaunchedProcess> read_launcher(std::string_view launcher, const Environment& environment,
                                      std::optional<std::uint16_t> port = std::nullopt);

/// Of the GPUs in such a list ("0,1"; nothing: all of the machine's), the one that this process is
/// to see, where each of several on this host is to have one; nothing: it sees them as they are.
/// Error: invalid_input, when there are too few.
Result<std::optional<std::string>> own_gpu(const LaunchedProcess& process,
                                           const std::optional<std::string>& visible);

} // namespace troupe
