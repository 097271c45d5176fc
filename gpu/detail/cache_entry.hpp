/// A cache of results on disk, one file per key.
#pragma once

#include "core/error.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace troupe::gpu {

/// Returns the entry; an empty object if it is missing, damaged, or of another format or key.
nlohmann::json read_entry(const std::filesystem::path& folder, const std::string& key);
/// Returns a value of the entry; null if there is none.
nlohmann::json value_of(const nlohmann::json& entry, const char* name);
/// Writes the entry atomically, so processes can share a folder. Creates a missing folder. Errors:
/// io, no_space; io for text that is not UTF-8.
Status write_entry(const std::filesystem::path& folder, const std::string& key,
                   nlohmann::json entry);

/// Returns the SHA-256 of `text`, to detect damage before a library parses it.
std::string digest(const std::string& text);

} // namespace troupe::gpu
