/// Reads the password of a run's page.
#pragma once

#include "core/error.hpp"

#include <string>

namespace troupe::metrics {

/// Returns the only line of a file that no user but its owner may access. Error: invalid_input,
/// with the file and the reason.
Result<std::string> read_password(const std::string& file);

} // namespace troupe::metrics
