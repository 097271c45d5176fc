/// Suggests the known name that a mistyped one was probably meant to be.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Insertions, deletions, replacements and swaps of neighbours that turn one name into the other,
/// ignoring case (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the first of the closest names; empty if none is close enough to suggest.
std::string suggest(std::string_view name, std::span<const std::string> known);

} // namespace troupe
