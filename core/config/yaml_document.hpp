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

/// Whether a mapping's key is YAML 1.1's merge key (`<<: *defaults`), and what is said of one:
/// yaml-cpp leaves it to be resolved by its caller.
bool is_merge_key(const YAML::Node& key);
inline constexpr const char* no_merge_keys =
    "merge keys (<<) are not supported: write the keys out in each mapping";

/// Refuses a second document and text after the end of the first, which yaml-cpp would leave
/// unread.
tl::expected<YAML::Node, YamlProblem> load_yaml_document(const std::string& text);

} // namespace troupe
