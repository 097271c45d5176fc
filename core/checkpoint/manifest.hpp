/// checkpoint.json: the list of files in a checkpoint's folder. It is written last, so a folder
/// that has it is complete.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace troupe {

struct FileRecord {
  std::string name; ///< within the folder
  std::uint64_t bytes = 0;
  std::string sha256; ///< of the whole file, 64 lower-case hexadecimal digits

  bool operator==(const FileRecord&) const = default;
};

struct Manifest {
  std::int64_t step = 0; ///< the last committed step
  std::int64_t epoch = 0;
  /// Values that must match on resume, and information for readers.
  std::map<std::string, std::string> metadata;
  std::vector<FileRecord> files;

  bool operator==(const Manifest&) const = default;
};

inline constexpr const char* manifest_name = "checkpoint.json";

/// Writes the manifest atomically.
Status write_manifest(const std::filesystem::path& folder, const Manifest& manifest);

/// Accepts any content: returns a manifest or an error, in time proportional to the file's size, at
/// most 4 MiB. Errors: corrupt names the file and the problem.
Result<Manifest> read_manifest(const std::filesystem::path& folder);

} // namespace troupe
