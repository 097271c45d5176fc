/// What pixels are shifted and divided by, where nothing else is said.
#pragma once

#include "image_dataset.hpp"

#include <string_view>

namespace troupe::data {

/// Of the data set's training images; of an image folder, ImageNet's, as torchvision's weights take
/// them. `dataset` is a name of the config.
Normalization usual_normalization(std::string_view dataset);

} // namespace troupe::data
