/// Runs this program in another process.
#pragma once

#include "core/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::app {

/// Runs the program with these arguments until it ends, with stdout and stderr written to `log`.
/// The process receives SIGTERM when this one dies. Returns the exit code, or 128 + the signal that
/// ended it. Errors: io.
Result<int> run_subprocess(const std::vector<std::string>& arguments,
                           const std::filesystem::path& log);

} // namespace troupe::app
