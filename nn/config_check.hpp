/// What core/ cannot check of a config, because it takes the model's graph.
#pragma once

#include "troupe/core/config/validate.hpp"

namespace troupe::nn {

/// Names of modules and units that the model does not have, and more parts than it has. A model
/// that cannot be built has no conflicts here: why, prepare_model says.
ConfigConflicts find_conflicts(const Config& config);

} // namespace troupe::nn
