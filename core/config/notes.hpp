/// Notes on a config: facts that are not errors but that the user should know.
#pragma once

#include "core/config/catalogue.hpp"

#include <string>
#include <vector>

namespace troupe {

/// Returns one line per note on a valid config: old keys that are used, and keys without effect on
/// the model.
std::vector<std::string> config_notes(const Config& config, const Catalogue& catalogue);

/// Returns a warning if devices.threads_per_worker asks for several threads and the workers
/// together have more threads than the cores that this process may use. It states the cost. Empty
/// otherwise.
std::string thread_warning(const DevicesConfig& devices, std::int64_t cores);

} // namespace troupe
