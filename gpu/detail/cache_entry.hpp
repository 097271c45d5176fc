/// What was found for a key, kept on disk: one file an entry.
#pragma once

#include "core/error.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace troupe::gpu {

/// Where the entry of a key lies.
std::filesystem::path entry_path(const std::filesystem::path& folder, const std::string& key);
/// The entry; null where there is none, or it is damaged, of another format or of another key.
nlohmann::json read_entry(const std::filesystem::path& folder, const std::string& key);
/// Written whole or not at all, so that processes can share a folder, which is made where it is
/// missing. Errors: io, no_space; io for text that is no UTF-8.
Status write_entry(const std::filesystem::path& folder, const std::string& key,
                   nlohmann::json entry);

/// SHA-256, for what a library is not asked to survive damaged.
std::string digest(const std::string& text);

} // namespace troupe::gpu
