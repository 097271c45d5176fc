/// Reads the text of a config file.
#pragma once

#include "core/config/problem.hpp"

#include <tl/expected.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Rejects a text that is too long for a config file. If the file is missing, suggests the nearest
/// name in its folder that ends with one of `extensions`.
tl::expected<std::string, ConfigProblem>
read_config_text(const std::filesystem::path& path,
                 const std::vector<std::string_view>& extensions);

} // namespace troupe
