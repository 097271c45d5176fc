/// `troupe compare --runs`: compares existing runs.
#pragma once

#include "core/error.hpp"
#include "metrics/report/comparison.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::app {

/// Reads the runs' folders. Links are relative to the folder of the table. Errors: invalid_input
/// for a folder that cannot be compared.
Result<metrics::Comparison> read_runs(const std::vector<std::string>& folders,
                                      const std::filesystem::path& table);

} // namespace troupe::app
