/// What is no error in a config, and yet should be known.
#pragma once

#include "core/config/catalogue.hpp"

#include <string>
#include <vector>

namespace troupe {

/// A line each, of a config that is good: deprecated keys that are used, and keys that change
/// nothing for the model.
std::vector<std::string> config_notes(const Config& config, const Catalogue& catalogue);

/// A warning if the workers' threads are more than the cores that this process may use, with what
/// that costs; empty if they are not, or if devices.threads_per_worker does not ask for several.
std::string thread_warning(const DevicesConfig& devices, std::int64_t cores);

} // namespace troupe
