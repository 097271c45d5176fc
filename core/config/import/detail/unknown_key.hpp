/// What is said of a key that no row has.
#pragma once

#include "../rows.hpp"

namespace troupe {

ForeignOutcome unknown_key(const ForeignRows& rows, const ForeignEntry& entry);

} // namespace troupe
