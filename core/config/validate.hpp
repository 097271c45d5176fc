/// Problems of configs, and checks of several keys together or of keys against the machine. Checks
/// of one key are its rule in keys.cpp.
#pragma once

#include "core/config/forward.hpp"
#include "core/error.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// Capabilities of this build and this machine; configs are checked against them.
struct Capabilities {
  bool cuda_build = false;     ///< the CUDA backend was compiled in
  int cuda_devices = 0;        ///< as counted by the driver
  std::int64_t host_cores = 1; ///< that this process may run on
  bool cuda_pinned = false;    ///< CUDA devices have their own memory and can use pinned host
                               ///< memory
  bool any_machine = false;    ///< the device that devices.kind auto takes is unknown

  /// All capabilities: to check a config for another machine.
  static Capabilities all() { return {true, 1 << 16, 1 << 16, true, true}; }
};

/// Looks up the host's part. CUDA stays off: the CUDA backend adds its own part.
Capabilities host_capabilities();

/// A problem with a config and its location.
struct ConfigProblem {
  std::string source = {};     ///< the file, or "--set a.b=c"
  int line = 0;                ///< from 1; 0: the source as a whole
  int column = 0;              ///< from 1
  std::string key = {};        ///< "train.optimizer.lr"; empty: not about one key
  std::string what = {};       ///< "0 is out of range"
  std::string allowed = {};    ///< "a whole number, at least 1"; may be empty
  std::string suggestion = {}; ///< the valid name that was probably meant; may be empty

  /// Returns `file:line:column: key: what; allowed: ...; did you mean "nearest"?`
  std::string to_string() const;
};

/// Combines the problems into one Errc::invalid_input, one line per problem.
Error to_error(const std::vector<ConfigProblem>& problems);

struct ConfigConflict {
  std::vector<std::string> keys; ///< all keys involved, the one to report first
  std::string what;
  std::string allowed = {};
  std::string suggestion = {};
};
using ConfigConflicts = std::vector<ConfigConflict>;

/// Returns the conflict as a problem without a location.
ConfigProblem to_problem(ConfigConflict conflict);

/// Combines all conflicts into one Errc::invalid_input, one line each; success if there are none.
Status to_status(ConfigConflicts conflicts);

/// Returns the conflicts of all sections, and those of the models.
ConfigConflicts find_conflicts(const Config& config, const Capabilities& capabilities,
                               const Catalogue& catalogue);

/// Returns one line for each fact about a valid config that is not an error but that the user
/// should know: old keys that are used, and keys without effect on the model.
std::vector<std::string> config_notes(const Config& config, const Catalogue& catalogue);

/// Returns a warning if devices.threads_per_worker asks for several threads and the workers
/// together have more threads than the cores that this process may use. It states the cost. Empty
/// otherwise.
std::string thread_warning(const DevicesConfig& devices, std::int64_t cores);

} // namespace troupe
