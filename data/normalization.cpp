#include "data/normalization.hpp"

#include "core/config/config.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <span>

namespace troupe::data {

namespace {

constexpr Normalization of_every_channel(float mean, float deviation) {
  return {{mean, mean, mean}, {deviation, deviation, deviation}};
}

struct Default {
  std::string_view dataset;
  Normalization values;
};

constexpr std::array defaults = {
    Default{"cifar10", {{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}}},
    Default{"mnist", of_every_channel(0.1307f, 0.3081f)},
    Default{"fashion_mnist", of_every_channel(0.2860f, 0.3530f)},
    // The values of ImageNet.
    Default{"image_folder", {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}}},
    Default{"synthetic", of_every_channel(0.5f, 0.25f)},
};

/// A single number applies to every channel.
std::array<float, 3> by_channel(std::span<const double> values) {
  std::array<float, 3> all = {};
  for (std::size_t c = 0; c < all.size(); ++c)
    all[c] = static_cast<float>(values[std::min(c, values.size() - 1)]);
  return all;
}

} // namespace

Normalization default_normalization(std::string_view dataset) {
  const auto* const found = std::ranges::find(defaults, dataset, &Default::dataset);
  return found == defaults.end() ? Normalization{} : found->values;
}

Normalization normalization_of(std::span<const double> mean, std::span<const double> deviation) {
  return mean.empty() ? Normalization{} : Normalization{by_channel(mean), by_channel(deviation)};
}

Normalization normalization_of(const DataConfig& data) {
  const auto& [mean, deviation] = data.normalize;
  if (mean.empty() || deviation.empty())
    return default_normalization(data.dataset);
  return normalization_of(mean, deviation);
}

std::string to_string(const Normalization& normalization, std::size_t channels) {
  return fmt::format("mean {}, std {}",
                     fmt::join(std::span{normalization.mean}.first(channels), ", "),
                     fmt::join(std::span{normalization.deviation}.first(channels), ", "));
}

} // namespace troupe::data
