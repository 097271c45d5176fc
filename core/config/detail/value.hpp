/// One YAML value into one member of a Config.
#pragma once

#include "core/config/schema.hpp"

#include <string>
#include <vector>

namespace YAML {
class Node;
}

namespace troupe {

/// A value, or an item of a list, that cannot be taken.
struct ValueProblem {
  std::string what;
  std::string suggestion = {};
  int item = -1; ///< of a list
};

/// Sets the key's member; leaves it alone where the value is of the wrong type. Checks the key's
/// rule.
std::vector<ValueProblem> assign_value(const YAML::Node& node, const ConfigKey& key);

/// How a node is named in messages: `"abc"`, `12`, `a list`, `null`.
std::string describe_node(const YAML::Node& node);

} // namespace troupe
