/// Reads the small files of tokenizers as text and as JSON; errors name the file.
#pragma once

#include "core/error.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>

namespace troupe::data {

/// Reads a file as text. Errors: Errc::io; Errc::data, also for a file of more than 128 MiB.
Result<std::string> read_text(const std::filesystem::path& path);

/// Reads a file as JSON. Errors: those of read_text and parse_json (core/json.hpp).
Result<nlohmann::json> read_json(const std::filesystem::path& path);

/// Prefixes an error's message with the file's name.
Status in_file(const std::filesystem::path& path, Status status);

} // namespace troupe::data
