/// Detects the launcher that started this process as one of many (torchrun, SLURM's srun), and
/// derives config values from its variables.
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

/// Returns the value of a variable; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// A process's position in a job.
struct LaunchedProcess {
  std::string launcher; ///< "torchrun", "slurm"
  std::int64_t rank = 0, size = 1;
  std::int64_t local_rank = 0, local_size = 1; ///< among the processes of this host
  Endpoint leader;                             ///< address on which rank 0 listens
  std::vector<GivenValue> values;              ///< cluster.join and others

  bool is_alone_here() const { return local_size == 1; }
};

/// The values of --launcher besides "none".
const std::vector<std::string>& launcher_names();

/// Reads the variables of the named launcher. "auto" takes the launcher whose variables are set:
/// torchrun before SLURM, because SLURM may have started torchrun. `port`: the port on which the
/// leader listens; by default one that all processes can derive. Errors: invalid_input, with the
/// variables that are missing or contradict each other; network when this host has no route to the
/// leader's.
Result<LaunchedProcess> read_launcher(std::string_view launcher, const Environment& environment,
                                      std::optional<std::uint16_t> port = std::nullopt);

/// Returns the GPU that this process is to see, from the visible list ("0,1"; nullopt: all of the
/// machine). Returns nullopt if the process keeps its view: it is the only one on this host, or the
/// list has at most one GPU. Error: invalid_input when there are too few GPUs.
Result<std::optional<std::string>> own_gpu(const LaunchedProcess& process,
                                           const std::optional<std::string>& visible);

} // namespace troupe
