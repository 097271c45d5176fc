/// Finds and opens images by path.
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

/// Returns all image files below a folder that are not hidden (walk_folder), folder by folder and
/// sorted in each, in the order of torchvision's ImageFolder. Errors: Errc::data if there are none,
/// or if one is not a regular file; Errc::io.
Result<FoundImages> image_files_below(const std::filesystem::path& folder);

/// Returns samples with a label for each file. Files are read on use. All are below `folder`, whose
/// path is not part of the fingerprint.
std::shared_ptr<ImageDataset> labelled_image_files(ImageInfo info, std::vector<std::int32_t> labels,
                                                   std::filesystem::path folder, FoundImages found);

/// Returns samples without a label (-1), in the order of the files. Files are read on use.
/// `info.channels` is the model's number of channels; one channel has the result of Pillow's
/// convert("L").
ImageDatasetPtr open_image_files(ImageInfo info, std::vector<std::filesystem::path> files);

} // namespace troupe::data
