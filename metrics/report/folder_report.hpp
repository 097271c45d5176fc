/// Builds the document of a run from the files of its folder, whether the run has ended, is running
/// or was killed.
#pragma once

#include "core/error.hpp"
#include "metrics/report/run_document.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::metrics {

struct FolderReport {
  RunDocument document;
  std::vector<std::string> notes; ///< what was left out; also in the document's log
};

/// Reads each file once, in bounded memory. Errors: invalid_input if the folder is not a run's.
Result<FolderReport> read_report(const std::filesystem::path& folder);

} // namespace troupe::metrics
