/// Returns the outcome of a key without a row: Fate::unknown, unless its value or its location is
/// wrong.
#pragma once

#include "importers/rows.hpp"

namespace troupe {

ForeignOutcome unknown_key(const ForeignRows& rows, const ForeignEntry& entry);

} // namespace troupe
