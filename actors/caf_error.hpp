/// Converts our errors to CAF's error type, for answers to requests, and back.
#pragma once

#include "actors/type_ids.hpp"

namespace troupe::actors {

inline caf::error to_caf_error(const Error& error) {
  return caf::make_error(caf::sec::runtime_error, error);
}

/// The answer to a peer's message that contains a null actor handle, which CAF accepts.
inline caf::error no_handle() {
  return to_caf_error({Errc::invalid_input, "the message contains a null actor handle"});
}

/// Returns the error that to_caf_error() converted. CAF's own errors contain neither the operation
/// nor the node: for these, returns `otherwise` with CAF's text appended to its message.
inline Error from_caf_error(const caf::error& error, Error otherwise) {
  if (error.context().match_elements<Error>())
    return error.context().get_as<Error>(0);
  otherwise.message += ": " + caf::to_string(error);
  return otherwise;
}

} // namespace troupe::actors
