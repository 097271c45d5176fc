/// Adjusts Error::whose for a node that receives an error from another node.
#pragma once

#include "core/error.hpp"
#include "core/units.hpp"

#include <string>

namespace troupe::actors {

/// Returns the error as the node at `address` sees it: `here` becomes `there` if another node is at
/// fault. Errors of this process name its address, its host or no node.
inline Error seen_from(const std::string& address, Error error) {
  const auto& node = error.where.node;
  if (error.whose == Whose::here && node != address && parse_endpoint(node))
    error.whose = Whose::there;
  return error;
}

} // namespace troupe::actors
