/// Parses numbers in cells of a table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe::data {

/// Returns the cell without spaces and tabs at its ends.
std::string_view trimmed(std::string_view cell);

/// Returns the double nearest to a decimal number such as `-1`, `+.5` or `1e-50`, regardless of the
/// locale. A number too small for a double becomes 0. Returns nothing for any other text, including
/// nan and infinities.
std::optional<double> parse_finite(std::string_view cell);

/// Returns a message that quotes the cell and gives the reason why it is not a finite number.
std::string why_not_finite(std::string_view cell);

} // namespace troupe::data
