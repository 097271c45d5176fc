/// The table of all models. Each family of this tree is a function here, in a separate file, and a
/// line in families.cpp. No other code in this program knows a model by name. The custom families
/// that a config carries follow them.
#pragma once

#include "core/config/model.hpp"
#include "nn/models/family.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::nn {

Family resnet();
Family cifar_resnet();
Family mlp();
Family linear();
Family gpt2();
Family llama();

/// The default of model.name.
inline constexpr std::string_view default_model = "resnet20";

/// Returns all families that a config can use, in the order in which names are listed.
std::vector<Family> families(const ModelConfig& model);

/// Returns the family of model.name.
std::optional<Family> family_of(const ModelConfig& model);

/// Returns the names of the families for which `holds` returns true, in their order.
template <class Holds>
std::vector<std::string> names_where(const ModelConfig& model, Holds holds) {
  std::vector<std::string> names;
  for (const auto& family : families(model))
    if (holds(family))
      names.insert(names.end(), family.names.begin(), family.names.end());
  return names;
}

/// Returns a config of the same families with all defaults.
ModelConfig untouched(const ModelConfig& model);

/// Returns the keys of all families, each once.
std::vector<ModelKey> model_keys(ModelConfig& model);

/// Returns the names of the models that take the key of this path.
std::vector<std::string> models_with(const ModelConfig& model, const std::string& path);

/// Returns the custom keys (core/config/custom_key.hpp) that the config's model takes, with their
/// values as a config file writes them.
std::map<std::string, std::string> custom_settings(ModelConfig model);

/// Returns the keys that the family does not take and whose value is not their default.
std::vector<ModelKey> unused_keys(ModelConfig& model, const Family& family);

} // namespace troupe::nn
