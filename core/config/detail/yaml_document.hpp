/// One YAML document of a text, as yaml-cpp reads it.
#pragma once

#include <tl/expected.hpp>
#include <yaml-cpp/node/node.h>

#include <string>

namespace troupe {

struct YamlProblem {
  YAML::Mark mark; ///< from 0
  std::string what;
};

/// Refuses a second document and text after the end of the first, which yaml-cpp would leave
/// unread.
tl::expected<YAML::Node, YamlProblem> load_yaml_document(const std::string& text);

} // namespace troupe
