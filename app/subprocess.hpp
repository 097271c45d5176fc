/// Another process of this program.
#pragma once

#include "core/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::app {

/// Runs the program with these arguments, its output (both kinds) in a file, until it ends. It is
/// asked to stop when this process dies. Gives the exit code, or 128 + the signal that ended it.
/// Errors: io.
Result<int> run_subprocess(const std::vector<std::string>& arguments,
                           const std::filesystem::path& log);

} // namespace troupe::app
