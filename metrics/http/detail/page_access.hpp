/// Access control of a run's page.
#pragma once

#include "metrics/http/detail/answer.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace troupe::metrics {

/// Whether the header "Basic BASE64" (RFC 7617) contains this password, with any user name.
/// Compares in constant time, so that the duration does not reveal how much of the password was
/// right.
bool has_password(std::string_view authorization, std::string_view password);

struct PageAccess {
  std::optional<std::string> password = {}; ///< required if set
  bool https = false;                       ///< whether the server has a certificate

  /// Returns the response that refuses the request; empty if access is granted.
  std::optional<HttpAnswer> refusal(const HttpQuestion& question) const;
};

} // namespace troupe::metrics
