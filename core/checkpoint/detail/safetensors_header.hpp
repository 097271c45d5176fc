/// Parses the JSON header of a safetensors file.
#pragma once

#include "core/checkpoint/safetensors.hpp"
#include "core/error.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// The header's key for metadata; all other keys are names of tensors.
inline constexpr std::string_view safetensors_metadata_key = "__metadata__";

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries; ///< in the order of the text
};

/// Takes time and memory proportional to the length of the text: no JSON tree is built. Errors:
/// corrupt if the text is not JSON or not a safetensors header, or if an object has a key twice.
/// Does not check whether sizes and offsets fit together.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view text);

} // namespace troupe
