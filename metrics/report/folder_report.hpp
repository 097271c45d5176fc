/// The document of a run from the files of its folder, whether the run has ended, goes on or was
/// killed.
#pragma once

#include "core/error.hpp"
#include "metrics/report/run_document.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::metrics {

struct FolderReport {
  RunDocument document;
  std::vector<std::string> notes; ///< what was left out of it; they are in its log, too
};

/// Reads each file once, in bounded memory. Errors: invalid_input where it is no run's folder.
Result<FolderReport> read_report(const std::filesystem::path& folder);

} // namespace troupe::metrics
