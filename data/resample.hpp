/// Antialiased bilinear resizing of a box of an image. The result is that of torchvision's resize
/// and resized_crop with antialias=True on float pixels: a triangle filter that grows with the
/// reduction, along x, then along y, without intermediate rounding.
#pragma once

#include "core/device/augment_math.hpp"
#include "core/random.hpp"
#include "data/image_dataset.hpp"

#include <cstdint>
#include <vector>

namespace troupe::data {

/// A box of an image, in pixels. Pixels outside of it are not read.
struct Box {
  int top = 0, left = 0, height = 0, width = 0;
  bool operator==(const Box&) const = default;
};

/// A transformation of an image: resize a box of it, then cut the window out of the result.
struct Cut {
  Box box;
  Extent resized;
  Window window; ///< lies inside `resized`
};

/// Draws the box of torchvision's RandomResizedCrop(scale=(0.08, 1), ratio=(3/4, 4/3)): ten tries,
/// then the largest centred box with an allowed ratio.
Box random_box(CounterRng rng, Extent source);

/// Filter of the outputs along one axis: neighbouring source pixels, each with its weight.
struct ResampleAxis {
  struct Place {
    int first = 0, count = 0;
    std::size_t weight = 0; ///< index of the first weight in `weights`
  };
  std::vector<Place> places;
  std::vector<float> weights;

  /// Computes the filter of `count` outputs from `begin` on, for a resize from `source` to `target`
  /// pixels.
  void assign(int begin, int count, int source, int target);
};

/// Memory that one thread reuses for all images. It caches as many rows as one output row needs.
struct ResampleScratch {
  ResampleAxis across, down;
  std::vector<float> rows;
  std::vector<int> held; ///< row of the box that each cached row contains
};

/// Writes the window's size x size pixels, 0 to 255, to `destination`. Each has `channels` values:
/// those of the image, or its grey, replicated.
void resample(const ImageView& image, const Cut& cut, int size, int channels, float* destination,
              ResampleScratch& scratch);

} // namespace troupe::data
