/// checkpoint.json: what a checkpoint's folder holds. It is written last, so a folder that has it
/// is whole.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace troupe {

struct FileRecord {
  std::string name; ///< in the folder
  std::uint64_t bytes = 0;
  std::string sha256; ///< of all of it, 64 lower-case hexadecimal digits

  bool operator==(const FileRecord&) const = default;
};

struct Manifest {
  std::int64_t step = 0; ///< the last committed step
  std::int64_t epoch = 0;
  /// What resuming has to agree on, and what a reader wants to know.
  std::map<std::string, std::string> metadata;
  std::vector<FileRecord> files;

  bool operator==(const Manifest&) const = default;
};

inline constexpr const char* manifest_name = "checkpoint.json";

/// Atomically.
Status write_manifest(const std::filesystem::path& folder, const Manifest& manifest);

/// Any content gives a value or an error (corrupt names the file and what is wrong), in time in
/// proportion to its size, of which 4 MiB are allowed.
Result<Manifest> read_manifest(const std::filesystem::path& folder);

} // namespace troupe
