/// Where the rows of a sequence stand, of which a graph has a part at a time.
#pragma once

#include "core/fail.hpp"

#include <cstdint>

namespace troupe::cpu {

/// Errors: data, where `rows` from place `first` on are not all among so many places.
inline Status check_places(std::int64_t first, std::int64_t rows, std::int64_t places) {
  if (first < 0 || first > places - rows)
    return fail(Errc::data, "{} rows begin at place {}, but a sequence has {} places", rows, first,
                places);
  return {};
}

} // namespace troupe::cpu
