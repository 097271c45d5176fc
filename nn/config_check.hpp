/// Checks of a config that core/ cannot do, because it knows no models.
#pragma once

#include "core/config/catalogue.hpp"

#include <string>
#include <vector>

namespace troupe::nn {

/// Returns the names of all models, the keys that some of them take, and the checks below, for
/// load_config and other code that describes configs. `own` contains custom families.
Catalogue model_catalogue(const CustomRows<Family>& own = {});

/// Returns the catalogue that a config was made with, including the custom families that the config
/// carries.
Catalogue catalogue_of(const Config& config);

/// Returns conflicts with the model's graph: names of modules and units that it does not have, and
/// more to divide than it has. Returns none for a model that cannot be built; prepare_model reports
/// the reason.
ConfigConflicts find_graph_conflicts(const Config& config);

/// Returns conflicts for names in a config's key that are neither a unit ("layer1.0") nor a prefix
/// of units ("layer1").
ConfigConflicts unknown_units(const std::string& key, const std::vector<std::string>& used,
                              const std::vector<std::string>& units);

} // namespace troupe::nn
