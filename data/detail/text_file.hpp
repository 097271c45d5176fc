/// Files of tokenizers, which are small, as text and as JSON; errors with the file's name.
#pragma once

#include "troupe/core/error.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace troupe::data {

/// Errors: Errc::data, Errc::io; a file of more than 128 MiB.
Result<std::string> read_text(const std::filesystem::path& path);

/// Errors (Errc::data): what is no JSON, with the file and its line, counted from `first`; nested
/// deeper than 32; a number that no double is, with the first line.
Result<nlohmann::json> parse_json(std::string_view text, const std::filesystem::path& path,
                                  std::int64_t first = 1);
Result<nlohmann::json> read_json(const std::filesystem::path& path);

/// With the file's name in front of the message.
Status in_file(const std::filesystem::path& path, Status status);

} // namespace troupe::data
