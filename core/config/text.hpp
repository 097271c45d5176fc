/// Texts generated from the description of the keys.
#pragma once

#include "core/config/catalogue.hpp"

#include <string>

namespace troupe {

/// Returns a key's value as it is written in a config file.
std::string config_value_text(const ConfigKey& key);

/// Returns a key's help, followed by that of the fields of its mappings.
std::string full_help(const ConfigKey& key);

/// Returns the JSON Schema (draft 2020-12) with which editors check and complete config files.
std::string config_json_schema(const Catalogue& catalogue);

/// Returns docs/config.md: a table of keys for every section.
std::string config_markdown(const Catalogue& catalogue);

} // namespace troupe
