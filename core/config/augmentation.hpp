/// Derived values of data.augment and related keys.
#pragma once

#include "core/config/custom_data_set.hpp"
#include "core/config/data.hpp"
#include "core/config/data_sets.hpp"

#include <algorithm>

namespace troupe {

inline bool has_augmentation(const DataConfig& data, Augmentation augmentation) {
  return std::ranges::find(data.augment, augmentation) != data.augment.end();
}

/// Whether images, for training or testing, are resized with antialiasing (data/resample.hpp),
/// which only the host can do.
inline bool is_resampled(const DataConfig& data) {
  return data.eval_resize || has_augmentation(data, Augmentation::resized_crop);
}

/// Whether a capable device may augment; known before files are read.
inline bool may_augment_on_device(const DataConfig& data) {
  return traits_of_data(data).same_size && !is_resampled(data);
}

/// Returns the size to which a test image's shorter side is resized before the centre crop. With
/// resized_crop the ratio is torchvision's, 256 for 224.
inline std::int64_t eval_resize(const DataConfig& data) {
  const bool larger = has_augmentation(data, Augmentation::resized_crop);
  return data.eval_resize.value_or(larger ? data.image_size * 8 / 7 : data.image_size);
}

} // namespace troupe
