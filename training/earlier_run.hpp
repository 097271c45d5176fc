/// The folder of an earlier run, where another one of the same name begins (checkpoint.resume:
/// never).
#pragma once

#include "core/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe::training {

/// Renames the folder to NAME.1, or the first number that is free, when the new run begins, and
/// returns that path; nothing where it holds no run. Entries of these names belong to the new run,
/// and stay. Blocks on files. Errors: invalid_input, where a process trains the earlier run; io.
Result<std::optional<std::filesystem::path>>
set_earlier_run_aside(const std::filesystem::path& folder, const std::vector<std::string>& kept);

} // namespace troupe::training
