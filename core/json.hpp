/// Parses untrusted JSON. Copying or writing a value takes a stack frame per level of nesting, so
/// the parser limits the nesting before it creates a value.
#pragma once

#include "core/error.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace troupe {

/// Most levels of nested arrays and objects in a JSON text.
inline constexpr int max_json_depth = 32;

/// Parses a whole text. `Json` is nlohmann::json or nlohmann::ordered_json. Errors: data, with the
/// file and the line, counted from `first_line`: the text is not JSON, is nested deeper than
/// max_json_depth, or has a number that does not fit a double.
template <class Json = nlohmann::json>
Result<Json> parse_json(std::string_view text, const std::filesystem::path& file = {},
                        std::int64_t first_line = 1);

} // namespace troupe
