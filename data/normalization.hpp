/// Normalization of pixels: the mean to subtract and the deviation to divide by.
#pragma once

#include "core/config/forward.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace troupe::data {

/// Mean and standard deviation of pixels / 255, by channel. Grey images use the first entry.
struct Normalization {
  std::array<float, 3> mean = {0.0f, 0.0f, 0.0f};
  std::array<float, 3> deviation = {1.0f, 1.0f, 1.0f};

  /// Normalizes a pixel of 0 to 255 as pixel·scale + shift.
  float scale(std::size_t channel) const { return 1.0f / (255.0f * deviation[channel]); }
  float shift(std::size_t channel) const { return -mean[channel] / deviation[channel]; }
  bool operator==(const Normalization&) const = default;
};

/// Returns the default of an image data set: the values of CIFAR-10, MNIST and Fashion-MNIST, and
/// ImageNet's values for image folders. Any other name gives the identity.
Normalization default_normalization(std::string_view dataset);

/// Returns the normalization of given values, one for each channel or one for all. No values give
/// the identity.
Normalization normalization_of(std::span<const double> mean, std::span<const double> deviation);

/// Returns the normalization of the config (data.normalize), or else the data set's default. A
/// model uses the first model.in_channels channels.
Normalization normalization_of(const DataConfig& data);

/// Returns "mean 0.485, 0.456, 0.406, std 0.229, 0.224, 0.225" for the first `channels` channels, 1
/// to 3.
std::string to_string(const Normalization& normalization, std::size_t channels = 3);

} // namespace troupe::data
