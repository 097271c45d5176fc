/// Files that a user names on the command line or in the config.
#pragma once

#include "core/error.hpp"

#include <utility>

namespace troupe {

/// Turns corrupt into invalid_input, because a retry does not repair a file that the user named.
/// Leaves other errors unchanged.
inline Error as_wrong_input(Error error) {
  if (error.code == Errc::corrupt)
    error.code = Errc::invalid_input;
  return error;
}

} // namespace troupe
