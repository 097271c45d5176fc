/// Names of custom_images.hpp before 0.2, for programs that use them. Removed in 0.3.
#pragma once

#include "data/custom_images.hpp"

namespace troupe::data {

inline Result<AdapterPtr> open_own_images(std::shared_ptr<ImageDataset> images,
                                          const Config& config, Split split) {
  return open_custom_images(std::move(images), config, split);
}

} // namespace troupe::data
