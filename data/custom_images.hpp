/// Helpers that open a custom data set of images (core/config/custom_data_set.hpp).
#pragma once

#include "data/adapter.hpp"
#include "data/image_dataset.hpp"

namespace troupe::data {

/// Returns a data set of images of one size with all pixels in memory: labels.size() images one
/// after another, each (height, width, channels). Errors: Errc::data if the number of pixels does
/// not match, or if a label is outside [0, info.class_names.size()).
Result<std::shared_ptr<ImageDataset>> images_in_memory(ImageInfo info,
                                                       std::vector<std::int32_t> labels,
                                                       std::vector<std::uint8_t> pixels,
                                                       Extent extent);

/// Returns the adapter that CustomDataSet::open has to return: at most data.limit images, augmented
/// as the config sets. Accepts any ImageDataset, including one that reads its files on use. Errors:
/// Errc::data if the set does not fit the model.
Result<AdapterPtr> open_custom_images(std::shared_ptr<ImageDataset> images, const Config& config,
                                      Split split);

} // namespace troupe::data
