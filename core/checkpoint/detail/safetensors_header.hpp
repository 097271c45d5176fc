/// The JSON of a safetensors file's header, before its entries are looked at.
#pragma once

#include "../../error.hpp"

#include <nlohmann/json.hpp>

#include <string_view>

namespace troupe {

/// An object. Takes time in proportion to the text, whatever it is. Errors: corrupt for what is no
/// JSON, a key that stands twice in one object, and what is nested deeper or longer than a header
/// can be.
Result<nlohmann::json> parse_safetensors_header(std::string_view text);

} // namespace troupe
