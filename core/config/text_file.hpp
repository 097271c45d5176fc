/// The text of a config file.
#pragma once

#include "core/config/problem.hpp"

#include <tl/expected.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Refuses what is too long to be a config file. Where nothing is there the nearest name beside it
/// that ends with one of `extensions` is suggested.
tl::expected<std::string, ConfigProblem>
read_config_text(const std::filesystem::path& path,
                 const std::vector<std::string_view>& extensions);

} // namespace troupe
