/// The value of one member of a Config: assigns it from YAML, and returns it as JSON.
#pragma once

#include "core/config/schema.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace YAML {
class Node;
}

namespace troupe {

/// Sets the key's member and checks the key's rule. Leaves the member unchanged if the value has
/// the wrong type. Mappings of fields are not values (ConfigReader).
std::vector<ValueProblem> assign_value(const YAML::Node& node, const ConfigKey& key);

/// Returns the member's value as the JSON that the schema describes.
nlohmann::ordered_json config_value_json(const ConfigKey& key);

/// Names a node for messages: `"abc"`, `12`, `a list`, `null`.
std::string describe_node(const YAML::Node& node);

} // namespace troupe
