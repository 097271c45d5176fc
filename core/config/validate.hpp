/// Checks of several keys together, or of keys against the machine. Checks of one key are its rule
/// in keys.cpp.
#pragma once

#include "core/config/capabilities.hpp"
#include "core/config/forward.hpp"
#include "core/config/problem.hpp"

#include <string>
#include <vector>

namespace troupe {

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
