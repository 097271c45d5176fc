/// Assigns one YAML value to one member of a Config.
#pragma once

#include "core/config/schema.hpp"

#include <string>
#include <vector>

namespace YAML {
class Node;
}

namespace troupe {

/// Sets the key's member and checks the key's rule. Leaves the member unchanged if the value has
/// the wrong type. Mappings of fields are not values (ConfigReader).
std::vector<ValueProblem> assign_value(const YAML::Node& node, const ConfigKey& key);

/// Names a node for messages: `"abc"`, `12`, `a list`, `null`.
std::string describe_node(const YAML::Node& node);

} // namespace troupe
