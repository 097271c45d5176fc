/// Images by their paths: to be looked at, not to be learned from.
#pragma once

#include "data/image_dataset.hpp"
#include "data/left_out.hpp"

#include <filesystem>
#include <memory>
#include <vector>

namespace troupe::data {

struct FoundImages {
  std::vector<std::filesystem::path> files;
  LeftOut left_out;
};

/// All image files below a folder that are not hidden (walk_folder): folder by folder, each sorted,
/// as torchvision's ImageFolder has them. Errors: Errc::data where there are none, or one is no
/// regular file; Errc::io.
Result<FoundImages> image_files_below(const std::filesystem::path& folder);

/// Samples without a label (-1), in the order of the files, which are read when they are used.
/// `info.channels` is what the model takes: colour becomes grey as Pillow's convert("L") makes it.
ImageDatasetPtr open_image_files(ImageInfo info, std::vector<std::filesystem::path> files);

} // namespace troupe::data
