/// Tensors as rows of channels, cut among threads.
#pragma once

#include "../parallel.hpp"
#include "troupe/core/tensor.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace troupe::cpu {

/// See Rows: short rows are joined until vectors fill up.
class Columns {
public:
  explicit Columns(const Shape& shape)
      : channels_{static_cast<std::size_t>(shape.dims.back())}, elements_{static_cast<std::size_t>(
                                                                    shape.elements())} {
    constexpr std::size_t vector = 16, least = 128, long_enough = 512;
    std::size_t joined = 1;
    if (channels_ < long_enough) {
      joined = vector / std::gcd(vector, channels_);
      while (channels_ * joined < least)
        joined *= 2;
    }
    width_ = channels_ * joined;
  }

  std::size_t channels() const { return channels_; }
  std::size_t elements() const { return elements_; }
  std::size_t rows() const { return elements_ / channels_; }
  std::size_t width() const { return width_; }
  std::size_t parts() const { return parts_of(elements_, grain()); }

  /// Calls fn(part, begin, end) for every thread's range of elements; ranges begin at whole rows.
  template <class Fn>
  void for_parts(Fn&& fn) const {
    const std::size_t step = grain();
    parallel_parts(parts(), [&](std::size_t part, std::size_t parts) {
      const std::size_t grains = (elements_ + step - 1) / step;
      const std::size_t begin = grains * part / parts * step;
      const std::size_t end = std::min(grains * (part + 1) / parts * step, elements_);
      if (begin < end)
        fn(part, begin, end);
    });
  }

private:
  /// Whole groups of four rows, and enough work to wake a thread for.
  std::size_t grain() const {
    const std::size_t group = 4 * width_;
    return (8192 + group - 1) / group * group;
  }

  std::size_t channels_, elements_, width_;
};

} // namespace troupe::cpu
