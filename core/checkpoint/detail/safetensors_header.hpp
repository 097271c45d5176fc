/// The JSON of a safetensors file's header.
#pragma once

#include "core/checkpoint/safetensors.hpp"
#include "core/error.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What stands beside the tensors' names in a header.
inline constexpr std::string_view safetensors_metadata_key = "__metadata__";

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries; ///< in the order of the text
};

/// Takes time and memory in proportion to the text, whatever it is: no tree of values is made.
/// Errors: corrupt for what is no JSON, or not a header's; a key that stands twice in one object.
/// Whether sizes and offsets fit together is not looked at.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view text);

} // namespace troupe
