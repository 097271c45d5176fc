/// The baseline for checkpoints: files with the same bytes, hashed with OpenSSL, and nothing else.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace troupe::bench {

/// Writes `bytes` to `file`, hashes them and syncs the file.
void write_hashed(const std::filesystem::path& file, std::span<const std::byte> bytes);

/// Writes each of `files` to a file in `folder`, each on its own thread.
void write_hashed(const std::filesystem::path& folder,
                  const std::vector<std::span<const std::byte>>& files);

/// Reads `file` into `into` and hashes it.
void read_hashed(const std::filesystem::path& file, std::span<std::byte> into);

} // namespace troupe::bench
