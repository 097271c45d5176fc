/// Tensors as rows of channels, divided among threads.
#pragma once

#include "core/graph/tensor.hpp"
#include "cpu/parallel.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace troupe::cpu {

/// See Rows: short rows are joined until they fill vectors.
class Columns {
public:
  explicit Columns(const Shape& shape)
      : channels_{static_cast<std::size_t>(shape.dims.back())},
        elements_{static_cast<std::size_t>(shape.elements())}, images_{static_cast<std::size_t>(
                                                                   shape.dims.front())} {
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
  std::size_t image_elements() const { return elements_ / images_; }

  /// Calls fn(begin, end) on ranges of elements that begin at whole rows.
  template <class Fn>
  void for_ranges(Fn&& fn) const {
    parallel_for(elements_, grain(), fn);
  }

  /// Number of partial sums over rows, to be added up at the end: one for each thread.
  std::size_t shares(int threads) const {
    return comes_out_even(threads) ? static_cast<std::size_t>(threads) : parts();
  }

  /// Calls fn(share, begin, end) for each share's images in order. If the batch is divisible by the
  /// threads, a share has the images of a worker in for_slices (slices.hpp).
  template <class Fn>
  void for_shares(int threads, Fn&& fn) const {
    if (!comes_out_even(threads))
      return for_parts(fn);
    const std::size_t lanes = shares(threads), pieces = lanes * pieces_of_share(images_ / lanes);
    parallel_lanes(lanes, pieces, [&](std::size_t piece, std::size_t share) {
      const std::size_t size = elements_ / pieces;
      fn(share, size * piece, size * (piece + 1));
    });
  }

private:
  std::size_t parts() const { return parts_of(elements_, grain()); }

  /// Calls fn(part, begin, end) for one range of elements a thread; ranges begin at whole rows.
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

  /// Divides a share into whole images, so that the number of images a worker takes at a time
  /// changes no sum.
  static std::size_t pieces_of_share(std::size_t images) {
    std::size_t pieces = 16;
    while (images % pieces != 0)
      --pieces;
    return pieces;
  }

  bool comes_out_even(int threads) const {
    return threads > 1 && images_ % static_cast<std::size_t>(threads) == 0;
  }

  /// Whole groups of four rows, and enough work to be worth waking a thread.
  std::size_t grain() const {
    const std::size_t group = std::max<std::size_t>(4 * width_, 1);
    return (8192 + group - 1) / group * group;
  }

  std::size_t channels_, elements_, images_, width_;
};

} // namespace troupe::cpu
