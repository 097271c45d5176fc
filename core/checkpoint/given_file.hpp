/// Files that a person names, on the command line or in the config.
#pragma once

#include "core/error.hpp"

#include <utility>

namespace troupe {

/// Makes corrupt content wrong input: no other attempt mends the file. Other errors stay as they
/// are.
inline Error as_wrong_input(Error error) {
  if (error.code == Errc::corrupt)
    error.code = Errc::invalid_input;
  return error;
}

} // namespace troupe
