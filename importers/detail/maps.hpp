/// Functions for rows that translate a value by itself.
#pragma once

#include "importers/detail/values.hpp"

#include <limits>
#include <vector>

namespace troupe {

/// Maps true and false to values of `key`.
ForeignMap switch_to(std::string key, std::string on = "true", std::string off = "false");

/// Maps a whole number that is at least 1 to `key`; `allowed` describes such a number.
ForeignMap count_to(std::string key, std::string allowed = "a whole number, at least 1");

/// Maps a number within bounds to `key`; `allowed` describes the bounds.
ForeignMap number_to(std::string key, std::string allowed, double least,
                     double most = std::numeric_limits<double>::infinity());

/// Returns `on` for true; false has no effect.
ForeignOutcome if_on(const ForeignEntry& entry, ForeignOutcome on,
                     std::string allowed = "true or false");

/// Returns the outcome of a text that is none of `words`.
ForeignOutcome unknown_word(const ForeignEntry& entry, const std::vector<std::string>& words);

} // namespace troupe
