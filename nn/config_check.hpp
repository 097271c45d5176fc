/// What core/ cannot check of a config, because it knows no models.
#pragma once

#include "core/config/catalogue.hpp"

namespace troupe::nn {

/// The names of all models, the keys that some of them take, and the checks below: for load_config
/// and what else describes configs. `own`: families that are not of this tree.
Catalogue model_catalogue(const CustomRows<Family>& own = {});

/// The catalogue that a config was made with, as the config carries what is not of this tree.
Catalogue catalogue_of(const Config& config);

/// What follows from which model it is, and from what the data gives it.
ConfigConflicts find_model_conflicts(const Config& config);

/// Conflicts with the model's graph: names of modules and units that it does not have, and more to
/// divide than it has. A model that cannot be built has no conflicts here: prepare_model says why.
ConfigConflicts find_graph_conflicts(const Config& config);

/// Keys that are given and change nothing for the model: a sentence each.
std::vector<std::string> unused_key_notes(const Config& config);

} // namespace troupe::nn
