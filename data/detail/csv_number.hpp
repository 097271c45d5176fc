/// Numbers in cells of a table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe::data {

/// Without spaces and tabs at its ends.
std::string_view trimmed(std::string_view cell);

/// The double nearest to a decimal number such as `-1`, `+.5` or `1e-50`, regardless of the locale;
/// a number too small for a double is 0. Empty for anything else: nan and infinities too.
std::optional<double> parse_finite(std::string_view cell);

/// Why a cell is not a finite number, with the cell: for messages.
std::string why_not_finite(std::string_view cell);

} // namespace troupe::data
