/// Catalogue of models and custom data sets for configs. core/ knows no model: the code that builds
/// them passes this catalogue to everything that reads, checks or describes configs.
#pragma once

#include "core/config/schema.hpp"
#include "core/config/validate.hpp"

#include <string>
#include <vector>

namespace troupe {

struct Catalogue {
  std::vector<std::string> names = {}; ///< valid values of model.name; empty: any text
  std::string default_value = {};      ///< default of model.name
  std::string help = {};               ///< help text of model.name
  /// Keys of the section model that only some models take, bound to its members.
  std::vector<ConfigKey> (*keys)(ModelConfig& model) = nullptr;
  /// Conflicts that depend on the model; checked together with core's. Values may still break the
  /// rules of their keys, except those that determine workers() and the number of micro-batches.
  ConfigConflicts (*conflicts)(const Config& config) = nullptr;
  /// Conflicts with the model's graph; checked when everything else is right.
  ConfigConflicts (*graph_conflicts)(const Config& config) = nullptr;
  /// Notes on given values without effect on the model, one sentence each.
  std::vector<std::string> (*notes)(const Config& config) = nullptr;
  /// Plugins: each config made with this catalogue carries them (ADR 20).
  CustomRows<nn::Family> custom_families = {};
  CustomRows<CustomDataSet> custom_sets = {};
};

} // namespace troupe
