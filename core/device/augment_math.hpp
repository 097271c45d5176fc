/// Arithmetic of image augmentation, element by element, for host and CUDA code. data/augment.hpp
/// defines the operations.
#pragma once

#include "core/host_and_device.hpp"
#include "core/random.hpp"

#include <cstdint>

namespace troupe {

/// The crop taken from the resized image, and whether it is mirrored afterwards.
struct Window {
  int top = 0, left = 0; ///< may be negative: pixels outside the image are zero
  bool flip = false;
  bool operator==(const Window&) const = default;
};

struct Extent {
  int height = 0, width = 0;
  bool operator==(const Extent&) const = default;
};

/// One output position of a bilinear resize along an axis: value = (1 - weight)·first +
/// weight·second.
struct ResizeTap {
  int first = 0, second = 0;
  float weight = 0;
};

/// Returns the size after a resize of the shorter side to `image_size`. Rounds the longer side as
/// torchvision does.
TROUPE_HOST_DEVICE inline Extent resized_extent(Extent source, int image_size) {
  const auto longer = [image_size](int long_side, int short_side) {
    return static_cast<int>(std::int64_t{image_size} * long_side / short_side);
  };
  if (source.height <= source.width)
    return {image_size, longer(source.width, source.height)};
  return {longer(source.height, source.width), image_size};
}

/// Returns the source positions and weight for output position `place` of a resized axis: torch's
/// bilinear interpolation with align_corners=False. `ratio` is source length / target length.
TROUPE_HOST_DEVICE inline ResizeTap resize_tap(int place, float ratio, int source_length) {
  const float exact = (static_cast<float>(place) + 0.5f) * ratio - 0.5f;
  const float position = exact > 0.0f ? exact : 0.0f;
  const int last = source_length - 1;
  const int first = static_cast<int>(position) < last ? static_cast<int>(position) : last;
  const float weight = position - static_cast<float>(first);
  return {first, first < last ? first + 1 : first, weight < 1.0f ? weight : 1.0f};
}

TROUPE_HOST_DEVICE inline float blend(float first, float second, float weight) {
  return first * (1.0f - weight) + second * weight;
}

TROUPE_HOST_DEVICE inline float normalize(float pixel, float scale, float shift) {
  return pixel * scale + shift;
}

/// Draws the random window of a sample in an image of `resized` extent. Always draws three numbers,
/// so that switching one augmentation on does not change the others.
TROUPE_HOST_DEVICE inline Window random_window(std::uint64_t key, std::int64_t sample,
                                               Extent resized, int image_size, int padding) {
  CounterRng rng{key, static_cast<std::uint64_t>(sample)};
  const auto places = [&](int length) {
    return static_cast<std::uint32_t>(length + 2 * padding - image_size + 1);
  };
  Window window;
  window.top = static_cast<int>(rng.below(places(resized.height))) - padding;
  window.left = static_cast<int>(rng.below(places(resized.width))) - padding;
  window.flip = rng.next() >> 31 != 0;
  return window;
}

} // namespace troupe
