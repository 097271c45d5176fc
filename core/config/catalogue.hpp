/// What configs may say of models, and of data sets from outside. core/ knows no model: the code
/// that builds them hands this catalogue to whatever reads, checks or describes configs.
#pragma once

#include "core/config/schema.hpp"
#include "core/config/validate.hpp"

#include <string>
#include <vector>

namespace troupe {

struct Catalogue {
  std::vector<std::string> names = {}; ///< what model.name may be; empty: any text
  std::string default_value = {};      ///< its default
  std::string help = {};               ///< what the names choose among
  /// Keys of the section model that some models take and others do not, bound to its members.
  std::vector<ConfigKey> (*keys)(ModelConfig& model) = nullptr;
  /// Conflicts that follow from which model it is; asked beside core's own. Values may break the
  /// rules of their keys then, except those that workers() and the number of micro-batches come
  /// from.
  ConfigConflicts (*conflicts)(const Config& config) = nullptr;
  /// Conflicts with the model's graph; asked when all else is right.
  ConfigConflicts (*graph_conflicts)(const Config& config) = nullptr;
  /// What is given and changes nothing for the model: a sentence each.
  std::vector<std::string> (*notes)(const Config& config) = nullptr;
  /// What is not of this tree: each config that is made with this catalogue carries it (ADR 20).
  CustomRows<nn::Family> custom_families = {};
  CustomRows<CustomDataSet> custom_sets = {};
};

} // namespace troupe
