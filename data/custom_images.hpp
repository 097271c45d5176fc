/// What an own data set of images (core/config/custom_data_set.hpp) is opened with.
#pragma once

#include "data/adapter.hpp"
#include "data/image_dataset.hpp"

namespace troupe::data {

/// Images of one size, whose pixels are all in memory: labels.size() images one after the other,
/// each rows of columns of channels. Errors: Errc::data where that is not how many pixels there
/// are, and for a label outside [0, info.class_names.size()).
Result<std::shared_ptr<ImageDataset>> images_in_memory(ImageInfo info,
                                                       std::vector<std::int32_t> labels,
                                                       std::vector<std::uint8_t> pixels,
                                                       Extent extent);

/// What CustomDataSet::open returns: the set's images, as many as data.limit says, augmented as the
/// config asks. Any ImageDataset will do, also one that reads its files when they are used. Errors:
/// Errc::data where the set does not fit the model.
Result<AdapterPtr> open_custom_images(std::shared_ptr<ImageDataset> images, const Config& config,
                                      Split split);

} // namespace troupe::data
