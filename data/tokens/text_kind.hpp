/// Files that are no plain text, by their first bytes.
#pragma once

#include "troupe/core/error.hpp"

#include <string_view>

namespace troupe::data {

/// Errc::data for a compressed file, a table, an image, tokens, or text in UTF-16 or UTF-32: what
/// it is, and what to do. `begin`: the first bytes of the text `name`.
Status expect_text(std::string_view begin, std::string_view name);

} // namespace troupe::data
