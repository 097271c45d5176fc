/// Finds the files below a folder.
#pragma once

#include "core/error.hpp"
#include "data/left_out.hpp"

#include <filesystem>
#include <vector>

namespace troupe::data {

struct FolderFiles {
  std::vector<std::filesystem::path> files;     ///< in no particular order
  std::vector<std::filesystem::path> irregular; ///< pipes, sockets, devices that `wants` accepts
  LeftOut left_out;
};

/// Finds the files in a folder and its subfolders whose names `wants` accepts. Hidden files and
/// folders are left out. Links to folders are followed, after the real folders. Each folder is read
/// once, and a link back to a parent folder is not followed. Errors: Errc::io.
Result<FolderFiles> walk_folder(const std::filesystem::path& folder,
                                bool (*wants)(const std::filesystem::path& file));

} // namespace troupe::data
