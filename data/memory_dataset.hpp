/// A data set whose pixels are all in memory, images of one size after each other.
#pragma once

#include "dataset.hpp"

namespace troupe::data {

class MemoryDataset : public Dataset {
public:
  /// `pixels` holds labels.size() images (height, width, info.channels).
  MemoryDataset(DatasetInfo info, std::vector<std::int32_t> labels,
                std::vector<std::uint8_t> pixels, int height, int width)
      : Dataset{std::move(info), std::move(labels)}, pixels_{std::move(pixels)}, height_{height},
        width_{width} {}

  Result<ImageView> read(std::int64_t index, std::vector<std::uint8_t>&) const override {
    const auto bytes = static_cast<std::size_t>(height_) * static_cast<std::size_t>(width_) *
                       static_cast<std::size_t>(info().channels);
    const auto first = static_cast<std::size_t>(index) * bytes;
    return ImageView{{pixels_.data() + first, bytes}, height_, width_, info().channels};
  }

  std::optional<Extent> extent() const override { return Extent{height_, width_}; }

private:
  std::vector<std::uint8_t> pixels_;
  int height_, width_;
};

} // namespace troupe::data
