/// Builds the document of a run from the files of its folder, whether the run has ended, is running
/// or was killed.
#pragma once

#include "core/error.hpp"
#include "metrics/report/run_document.hpp"

#include <filesystem>

namespace troupe::metrics {

/// Reads each file once, in bounded memory. The log says what was left out. Errors: invalid_input
/// if the folder is not a run's.
Result<RunDocument> read_report(const std::filesystem::path& folder);

} // namespace troupe::metrics
