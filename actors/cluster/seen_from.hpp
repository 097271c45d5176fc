/// Whose an error is, for a node that learns of it from others.
#pragma once

#include "troupe/core/error.hpp"
#include "troupe/core/units.hpp"

#include <string>

namespace troupe::actors {

/// The same error for the node at `address`: what another node has met is there, not here. Errors
/// of this process name its address, its host or nothing.
inline Error seen_from(const std::string& address, Error error) {
  const auto& node = error.where.node;
  if (error.whose == Whose::here && node != address && parse_endpoint(node))
    error.whose = Whose::there;
  return error;
}

} // namespace troupe::actors
