/// Moves the folder of an earlier run away when another run of the same name starts
/// (checkpoint.resume: never).
#pragma once

#include "core/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::training {

/// Renames the folder to NAME.1, or to the first free number, and returns that path. Returns
/// nothing if the folder holds no run. Entries named in `kept` belong to the new run and stay.
/// Blocks on files. Errors: invalid_input if a process still trains the earlier run; io.
Result<std::optional<std::filesystem::path>>
set_earlier_run_aside(const std::filesystem::path& folder, const std::vector<std::string>& kept);

} // namespace troupe::training
