/// Splits streamed token bytes at the end of whole UTF-8 characters.
#pragma once

#include <cstddef>
#include <string_view>

namespace troupe::data {

/// Returns how many of the first bytes can be shown before more arrive: all except an incomplete
/// UTF-8 character at the end. Bytes that cannot become a character count as whole.
std::size_t whole_characters(std::string_view bytes);

} // namespace troupe::data
