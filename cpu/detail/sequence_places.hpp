/// Positions of rows in a sequence, for graphs that process a part of it at a time.
#pragma once

#include "core/fail.hpp"

#include <cstdint>

namespace troupe::cpu {

/// Errors: data, unless `rows` from position `first` on all lie within `places`.
inline Status check_places(std::int64_t first, std::int64_t rows, std::int64_t places) {
  if (first < 0 || first > places - rows)
    return fail(Errc::data, "{} rows begin at position {}, but a sequence has {} positions", rows,
                first, places);
  return {};
}

} // namespace troupe::cpu
