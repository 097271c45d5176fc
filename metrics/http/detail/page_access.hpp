/// Who may see the page of a run.
#pragma once

#include "metrics/http/detail/answer.hpp"

#include <optional>
#include <string>

namespace troupe::metrics {

struct PageAccess {
  std::optional<std::string> password = {}; ///< asked for where it is set
  bool https = false;                       ///< whether the server has a certificate

  /// Empty: he may.
  std::optional<HttpAnswer> refusal(const HttpQuestion& question) const;
};

} // namespace troupe::metrics
