/// Addresses that other nodes send.
#pragma once

#include "core/units.hpp"

#include <string_view>

namespace troupe::net {

/// Returns the endpoint that `text` (HOST:PORT) names. For any other text, such as that of a
/// damaged message, it returns an endpoint without a host; connecting to it fails.
inline Endpoint peer_endpoint(std::string_view text) {
  return parse_endpoint(text).value_or(Endpoint{});
}

} // namespace troupe::net
