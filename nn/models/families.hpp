/// The table of all models: each family is a function here, in a file of its own, and a line in
/// families.cpp. Nothing else in this program knows a model by name.
#pragma once

#include "family.hpp"

#include <optional>

namespace troupe::nn {

Family resnet();
Family cifar_resnet();
Family mlp();
Family linear();

/// The default of model.name.
inline constexpr std::string_view usual_model = "resnet20";

/// All families, in the order in which names are listed.
std::vector<Family> families();

std::optional<Family> family_of(std::string_view model);

/// Names of the families for which this holds, in their order.
template <class Holds>
std::vector<std::string> names_where(Holds holds) {
  std::vector<std::string> names;
  for (const auto& family : families())
    if (holds(family))
      names.insert(names.end(), family.names.begin(), family.names.end());
  return names;
}

/// The keys of all families, each once.
std::vector<ModelKey> model_keys(ModelConfig& model);

/// Names of the models that take the key of this path.
std::vector<std::string> models_with(const std::string& path);

/// The keys that the family does not take and that have another value than their default.
std::vector<ModelKey> unused_keys(ModelConfig& model, const Family& family);

} // namespace troupe::nn
