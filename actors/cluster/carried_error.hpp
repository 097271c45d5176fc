/// Our errors as answers to requests, where CAF has a type of its own.
#pragma once

#include "../type_ids.hpp"

namespace troupe::actors {

inline caf::error carry(const Error& error) {
  return caf::make_error(caf::sec::runtime_error, error);
}

/// What was carried; network, in CAF's words, when it is CAF's own.
inline Error carried(const caf::error& error) {
  if (error.context().match_elements<Error>())
    return error.context().get_as<Error>(0);
  return {Errc::network, caf::to_string(error)};
}

} // namespace troupe::actors
