/// The files below a folder.
#pragma once

#include "core/error.hpp"
#include "data/left_out.hpp"

#include <filesystem>
#include <vector>

namespace troupe::data {

struct FolderFiles {
  std::vector<std::filesystem::path> files;     ///< in no particular order
  std::vector<std::filesystem::path> irregular; ///< pipes, sockets and devices of a wanted name
  LeftOut left_out;
};

/// Finds the files that `wants` accepts by name, in the folder and in those below it. Hidden files
/// and folders are left out. Links to folders are followed, after the real folders; each folder is
/// read once, and a link back to a folder that contains this one is not followed. Errors: Errc::io.
Result<FolderFiles> walk_folder(const std::filesystem::path& folder,
                                bool (*wants)(const std::filesystem::path& file));

} // namespace troupe::data
