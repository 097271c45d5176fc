/// The password of a run's page.
#pragma once

#include "core/error.hpp"

#include <string>

namespace troupe::metrics {

/// The one line of a file that nobody but its owner may read. Error: invalid_input, with the file
/// and why.
Result<std::string> read_password(const std::string& file);

} // namespace troupe::metrics
