/// Division of a batch's pixels into slices of about 192, which stay in a core's second-level cache
/// between a product and the steps that read its result.
#pragma once

#include "cpu/onednn/detail/column_sums.hpp"
#include "cpu/onednn/detail/step.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::cpu {

class PixelSlices {
public:
  /// Pixels of a slice, a multiple of the rows of all kernels' tiles; and the most of a slice that
  /// takes the rest of a worker's pixels, or of a block of a larger slice.
  static constexpr std::size_t wanted = 192, most = wanted * 3 / 2;

  /// `images` with `pixels` each. `written`: the tensor that is written; sums over its slices have
  /// the bits of sums over whole images. Slices are `times` as large, of multiples of `unit` pixels
  /// or whole images.
  PixelSlices(std::size_t images, std::size_t pixels, const Columns& written, std::size_t unit,
              std::size_t times, int threads)
      : workers_{static_cast<std::size_t>(threads)}, even_{images % workers_ == 0},
        share_{(even_ ? images / workers_ : images) * pixels} {
    unit = std::lcm(unit, written.rows_at_a_time());
    if (pixels % unit != 0)
      unit = pixels;
    slice_ = std::max<std::size_t>(times * wanted / unit, 1) * unit;
  }

  /// Whether each worker has the images of a worker in for_slices (slices.hpp).
  bool even() const { return even_; }
  std::size_t workers() const { return workers_; }
  /// Pixels of the next block, of `rest` that are left of a slice.
  static std::size_t next_block(std::size_t rest) { return rest <= most ? rest : wanted; }

  /// Parts that the columns of a slice should be divided into, so that all workers have some.
  std::size_t parts() const { return even_ ? 1 : divide_up(2 * workers_, of_share()); }

  /// Calls fn(begin, end, worker) for every slice. A worker has a contiguous range of slices, and
  /// runs them one after the other.
  template <class Fn>
  void for_each(Fn&& fn) const {
    for_parts(1, [&](std::size_t begin, std::size_t end, std::size_t, std::size_t worker) {
      fn(begin, end, worker);
    });
  }

  /// Calls fn(begin, end, part, worker) for `parts` parts of every slice.
  template <class Fn>
  void for_parts(std::size_t parts, Fn&& fn) const {
    const std::size_t slices = of_share();
    parallel_lanes(workers_, (even_ ? workers_ : 1) * slices * parts,
                   [&](std::size_t index, std::size_t worker) {
                     const std::size_t slice = index / parts, at = slice % slices;
                     const std::size_t first = slice / slices * share_;
                     const std::size_t end = at + 1 < slices ? (at + 1) * slice_ : share_;
                     fn(first + at * slice_, first + end, index % parts, worker);
                   });
  }

private:
  /// Slices of a share. A small rest belongs to the last one.
  std::size_t of_share() const { return std::max<std::size_t>((share_ + slice_ / 2) / slice_, 1); }

  std::size_t workers_;
  bool even_;
  std::size_t share_, slice_; ///< pixels of a worker, or all; pixels of a slice
};

} // namespace troupe::cpu
