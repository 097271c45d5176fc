/// Fate of a key that no row has: Fate::unknown, unless its value or its place is wrong.
#pragma once

#include "importers/rows.hpp"

namespace troupe {

ForeignOutcome unknown_key(const ForeignRows& rows, const ForeignEntry& entry);

} // namespace troupe
