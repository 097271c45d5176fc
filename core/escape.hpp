/// Text of others (file names, keys, values) as a message can show it: a terminal must not obey it,
/// and it must not fill a screen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

/// What is not printable UTF-8 becomes \n, \t, \xNN or \u{N}.
std::string escaped(std::string_view text);

/// The same; line breaks stay, for messages of several lines.
std::string escaped_lines(std::string_view text);

/// Characters of a value that a message shows.
inline constexpr std::size_t longest_echo = 200;

/// Escaped, and cut where it would be longer: "...".
std::string echoed(std::string_view text, std::size_t longest = longest_echo);

} // namespace troupe
