/// Makes untrusted text (file names, keys, values) safe for messages: terminals do not interpret
/// it, and it does not fill a screen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

/// Replaces everything that is not printable UTF-8 by \n, \t, \xNN or \u{N}.
std::string escaped(std::string_view text);

/// Escapes as escaped() does, but keeps line breaks, for messages of several lines.
std::string escaped_lines(std::string_view text);

/// Most characters of a value that a message shows.
inline constexpr std::size_t longest_echo = 200;

/// Escapes as escaped() does and truncates longer text with "...".
std::string echoed(std::string_view text, std::size_t longest = longest_echo);

} // namespace troupe
