/// Access control of a run's page.
#pragma once

#include "metrics/http/detail/answer.hpp"

#include <optional>
#include <string>

namespace troupe::metrics {

struct PageAccess {
  std::optional<std::string> password = {}; ///< required if set
  bool https = false;                       ///< whether the server has a certificate

  /// Returns the response that refuses the request; empty if access is granted.
  std::optional<HttpAnswer> refusal(const HttpQuestion& question) const;
};

} // namespace troupe::metrics
