/// Whole files in memory, with errors that name them.
#pragma once

#include "troupe/core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace troupe::data {

/// Errors: Errc::data when there is no such file, Errc::io when the system refuses to read it.
Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path);

/// As read_file, unpacked if it is a gzip file. Errors also: Errc::data when the gzip stream ends
/// early or its checksum does not match.
Result<std::vector<std::uint8_t>> read_maybe_gzip(const std::filesystem::path& path);

/// What a user can do about files of a data set that are missing or damaged: "fetch it with ...".
/// `name` is as tools/fetch-data takes it.
std::string fetch_hint(std::string_view name, const std::filesystem::path& root);

/// Errc::data with that hint unless `root` is a folder.
Status check_root(std::string_view name, const std::filesystem::path& root);

} // namespace troupe::data
