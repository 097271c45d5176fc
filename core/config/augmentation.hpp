/// What data.augment and its neighbours ask for.
#pragma once

#include "core/config/custom_data_set.hpp"
#include "core/config/data_sets.hpp"
#include "core/config/training.hpp"

#include <algorithm>
#include <string_view>

namespace troupe {

inline bool has_augmentation(const DataConfig& data, std::string_view name) {
  return std::ranges::find(data.augment, name) != data.augment.end();
}

/// Whether images, of training or of the test set, are resized with antialiasing
/// (data/resample.hpp): the host alone does that.
inline bool is_resampled(const DataConfig& data) {
  return data.eval_resize || has_augmentation(data, "resized_crop");
}

/// Whether a device that can may augment: known before files are read.
inline bool may_augment_on_device(const DataConfig& data) {
  return traits_of_data(data).same_size && !is_resampled(data);
}

/// What the shorter side of a test image becomes before its centre is cut out. With resized_crop
/// torchvision's 256 for 224, in proportion.
inline std::int64_t eval_resize(const DataConfig& data) {
  const bool larger = has_augmentation(data, "resized_crop");
  return data.eval_resize.value_or(larger ? data.image_size * 8 / 7 : data.image_size);
}

} // namespace troupe
