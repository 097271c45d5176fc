/// Base 64 with + and / (RFC 4648), padded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The bytes that a text stands for; none: it is empty or no base 64.
std::optional<std::string> from_base64(std::string_view text);

} // namespace troupe
