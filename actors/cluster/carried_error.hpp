/// Our errors as answers to requests, where CAF has a type of its own.
#pragma once

#include "../type_ids.hpp"

namespace troupe::actors {

inline caf::error carry(const Error& error) {
  return caf::make_error(caf::sec::runtime_error, error);
}

/// What was carried. An error of CAF's own says neither what was tried nor where: it becomes
/// `otherwise`, with CAF's words behind the message.
inline Error carried(const caf::error& error, Error otherwise) {
  if (error.context().match_elements<Error>())
    return error.context().get_as<Error>(0);
  otherwise.message += ": " + caf::to_string(error);
  return otherwise;
}

} // namespace troupe::actors
