/// Loads a text with one YAML document through yaml-cpp.
#pragma once

#include <tl/expected.hpp>
#include <yaml-cpp/node/node.h>

#include <string>

namespace troupe {

struct YamlProblem {
  YAML::Mark mark; ///< counted from 0
  std::string what;
};

/// Whether a mapping's key is YAML 1.1's merge key (`<<: *defaults`), which yaml-cpp does not
/// resolve; and the message that rejects it.
bool is_merge_key(const YAML::Node& key);
inline constexpr const char* no_merge_keys =
    "merge keys (<<) are not supported: write the keys out in each mapping";

/// Rejects a second document, and text after the end of the first, which yaml-cpp would ignore.
tl::expected<YAML::Node, YamlProblem> load_yaml_document(const std::string& text);

} // namespace troupe
