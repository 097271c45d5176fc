/// Bytes of tokens come before the character is whole that they are a part of.
#pragma once

#include <cstddef>
#include <string_view>

namespace troupe::data {

/// How many of the first bytes can be shown before more come: all but the beginning of a UTF-8
/// character at the end. What can become none counts as whole.
std::size_t whole_characters(std::string_view bytes);

} // namespace troupe::data
