/// Files of tokenizers, which are small, as text and as JSON; errors with the file's name.
#pragma once

#include "core/error.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>

namespace troupe::data {

/// Errors: Errc::data, Errc::io; a file of more than 128 MiB.
Result<std::string> read_text(const std::filesystem::path& path);

/// Errors: those of read_text and parse_json (core/json.hpp).
Result<nlohmann::json> read_json(const std::filesystem::path& path);

/// With the file's name in front of the message.
Status in_file(const std::filesystem::path& path, Status status);

} // namespace troupe::data
