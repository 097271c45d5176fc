/// What is taken away from pixels, and what they are divided by, before a model sees them.
#pragma once

#include "core/config/forward.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::data {

/// Mean and standard deviation of pixels / 255, by channel. Grey images use the first entry.
struct Normalization {
  std::array<float, 3> mean = {0.0f, 0.0f, 0.0f};
  std::array<float, 3> deviation = {1.0f, 1.0f, 1.0f};

  /// A pixel of 0 to 255 becomes pixel·scale + shift.
  float scale(std::size_t channel) const { return 1.0f / (255.0f * deviation[channel]); }
  float shift(std::size_t channel) const { return -mean[channel] / deviation[channel]; }
  bool operator==(const Normalization&) const = default;
};

/// The values usual for a data set of images: CIFAR-10's, MNIST's and Fashion-MNIST's own,
/// ImageNet's for image folders. Of another name: those that change nothing.
Normalization default_normalization(std::string_view dataset);

/// What the config says (data.mean, data.std), else what is usual for its data set. Of
/// model.in_channels channels the first ones count.
Normalization normalization_of(const DataConfig& data);

/// "mean 0.485, 0.456, 0.406, std 0.229, 0.224, 0.225"; of so many channels, 1 to 3.
std::string to_string(const Normalization& normalization, std::size_t channels = 3);

} // namespace troupe::data
