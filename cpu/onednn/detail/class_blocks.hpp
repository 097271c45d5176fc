/// Division of a head's classes among threads.
#pragma once

#include "cpu/kernels/logits.hpp"

#include <algorithm>

namespace troupe::cpu {

/// Divides classes into blocks: a whole number for each lane.
class ClassBlocks {
  static constexpr std::size_t tile_classes = 32;

public:
  ClassBlocks(std::size_t classes, std::size_t threads) : classes_{classes} {
    const std::size_t fewest =
        (classes + LogitKernels::most_classes - 1) / LogitKernels::most_classes;
    lanes_ = std::min(threads, (classes + tile_classes - 1) / tile_classes);
    const std::size_t parts = (fewest + lanes_ - 1) / lanes_ * lanes_;
    size_ = ((classes + parts - 1) / parts + tile_classes - 1) / tile_classes * tile_classes;
    parts_ = (classes + size_ - 1) / size_;
    lanes_ = std::min(lanes_, parts_);
  }

  std::size_t lanes() const { return lanes_; }
  std::size_t parts() const { return parts_; }
  bool is_first_of_lane(std::size_t part, std::size_t lane) const {
    return part == parts_ * lane / lanes_;
  }
  LogitBlock block(std::size_t part, const float* weight, std::size_t width) const {
    const std::size_t first = part * size_;
    return {first, std::min(size_, classes_ - first), weight + first * width};
  }

private:
  std::size_t classes_, lanes_, size_, parts_;
};

} // namespace troupe::cpu
