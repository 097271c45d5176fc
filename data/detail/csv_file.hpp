/// Numbers of a CSV file (RFC 4180), column by column name.
#pragma once

#include "troupe/core/error.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace troupe::data {

/// The named columns of all rows, a row after the other, in the order of `columns`. The other
/// columns may hold anything. Errors: those of read_file; Errc::data with file, line and column for
/// a column that is not there (names the nearest), a row of another length, what is no finite
/// number, and a file without rows.
Result<std::vector<float>> read_csv(const std::filesystem::path& path,
                                    std::span<const std::string> columns);

} // namespace troupe::data
