/// Antialiased bilinear resizing of a part of an image, as torchvision's resize and resized_crop do
/// it with antialias=True on float pixels: a triangle filter that grows with what is made smaller,
/// along x, then along y, not rounded in between.
#pragma once

#include "core/device/augment_math.hpp"
#include "core/random.hpp"
#include "data/image_dataset.hpp"

#include <cstdint>
#include <vector>

namespace troupe::data {

/// A part of an image, in pixels. What lies outside of it is not looked at.
struct Box {
  int top = 0, left = 0, height = 0, width = 0;
  bool operator==(const Box&) const = default;
};

/// What is made of an image: a box of it is resized, and the window is cut out of that.
struct Cut {
  Box box;
  Extent resized;
  Window window; ///< lies inside of `resized`
};

/// The box of torchvision's RandomResizedCrop(scale=(0.08, 1), ratio=(3/4, 4/3)): ten tries, then
/// the largest box from the centre whose ratio is allowed.
Box random_box(CounterRng rng, Extent source);

/// What the outputs along one axis are made of: sources next to each other, each with its weight.
struct ResampleAxis {
  struct Place {
    int first = 0, count = 0;
    std::size_t weight = 0; ///< place of the first in `weights`
  };
  std::vector<Place> places;
  std::vector<float> weights;

  /// Of `count` outputs from `begin` on, where `source` pixels become `target`.
  void assign(int begin, int count, int source, int target);
};

/// Memory that one thread reuses from image to image: as many rows as one row of the output is made
/// of.
struct ResampleScratch {
  ResampleAxis across, down;
  std::vector<float> rows;
  std::vector<int> held; ///< which row of the box each of them is
};

/// Writes the window's size x size pixels, 0 to 255, to `destination`, with `channels` values each:
/// those of the image, or its grey, replicated.
void resample(const ImageView& image, const Cut& cut, int size, int channels, float* destination,
              ResampleScratch& scratch);

} // namespace troupe::data
