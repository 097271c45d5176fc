/// Base64 with + and / (RFC 4648), padded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// Decodes `text`. Returns nullopt if it is empty or not Base64.
std::optional<std::string> from_base64(std::string_view text);

} // namespace troupe
