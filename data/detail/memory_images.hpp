/// A data set of images of one size with all pixels in memory, one image after another.
#pragma once

#include "data/image_dataset.hpp"

namespace troupe::data {

class MemoryImages : public ImageDataset {
public:
  /// `pixels` contains labels.size() images (height, width, info.channels).
  MemoryImages(ImageInfo info, std::vector<std::int32_t> labels, std::vector<std::uint8_t> pixels,
               int height, int width)
      : ImageDataset{std::move(info), std::move(labels)}, pixels_{std::move(pixels)},
        height_{height}, width_{width} {}

  Result<ImageView> read(std::int64_t index, std::vector<std::uint8_t>&) const override;

  std::optional<Extent> extent() const override { return Extent{height_, width_}; }

private:
  void keep(std::span<const std::int64_t> samples) override;
  void add_pixels(Sha256& sha) const override;
  std::size_t image_bytes() const;

  std::vector<std::uint8_t> pixels_;
  int height_, width_;
};

} // namespace troupe::data
