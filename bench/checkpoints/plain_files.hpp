/// What checkpoints are compared with: files that hold the same bytes, hashed with OpenSSL, and
/// nothing else.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace troupe::bench {

/// Writes, hashes and syncs a file of these bytes.
void write_hashed(const std::filesystem::path& file, std::span<const std::byte> bytes);

/// So many at once, each on a thread of its own.
void write_hashed(const std::filesystem::path& folder,
                  const std::vector<std::span<const std::byte>>& files);

/// Reads all of a file into `into`, and hashes it.
void read_hashed(const std::filesystem::path& file, std::span<std::byte> into);

} // namespace troupe::bench
