/// Tensors as rows of channels, divided among threads, and sums per channel.
#pragma once

#include "core/graph/tensor.hpp"
#include "cpu/kernels/kernels.hpp"
#include "cpu/parallel.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace troupe::cpu {

/// See Rows: short rows are joined until they fill vectors.
class Columns {
public:
  explicit Columns(const Shape& shape)
      : channels_{static_cast<std::size_t>(shape.dims.back())}, elements_{shape.count()},
        images_{static_cast<std::size_t>(shape.dims.front())} {
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
  /// Rows that kernels take at a time. Sums over ranges of rows have the same bits as sums over all
  /// of them if every range has a multiple of these.
  std::size_t rows_at_a_time() const { return 4 * width_ / channels_; }

  /// Calls fn(begin, end) on ranges of elements that begin at whole rows, the last of a thread
  /// first: the sums over the rows end there.
  template <class Fn>
  void for_ranges(Fn&& fn) const {
    parallel_for_backwards(elements_, grain(), fn);
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

/// Two sums per channel. Each worker adds up blocks of rows in f32 and the blocks in double;
/// workers are added in order. The bits therefore depend on which images each worker has, and not
/// on how many it gets at a time.
class ColumnSums {
public:
  void begin(const Columns& columns, std::size_t workers);

  /// Adds rows of x and their squares, both relative to the worker's first row, which keeps the
  /// squares small.
  template <class T>
  void add(std::size_t worker, const T* x, std::size_t elements) {
    auto& own = workers_[worker];
    if (own.rows == 0)
      set_shift(own, x);
    blocks(own, elements, [&](std::size_t at, Rows rows, float* sum, float* squares) {
      kernels().of<T>().statistics(x + at, rows, own.shift.data(), sum, squares);
    });
  }

  /// Adds v and v * (x - mean); `views` has no sums.
  template <class T>
  void add_backward(std::size_t worker, const BackwardSums<T>& views, std::size_t elements) {
    blocks(workers_[worker], elements, [&](std::size_t at, Rows rows, float* sum, float* sum_x) {
      const ReluMask<T> mask{views.mask.y ? views.mask.y + at : nullptr, views.mask.factor,
                             views.mask.offset};
      kernels().of<T>().backward_sums({views.dy + at, views.x + at, mask,
                                       views.masked ? views.masked + at : nullptr, views.mean, sum,
                                       sum_x},
                                      rows);
    });
  }

  /// Called after all rows are added.
  void finish();

  struct Moments {
    double mean, variance; ///< biased
  };
  /// The moments of the rows given to add().
  Moments moments(std::size_t channel) const;
  /// The sums of the rows given to add_backward(): of v, and of v * (x - mean).
  double sum(std::size_t channel) const { return total(channel); }
  double sum_x(std::size_t channel) const { return total(channels_ + channel); }

private:
  static constexpr std::size_t most_block_rows = 128;

  struct Worker {
    std::vector<float> shift, block;
    std::vector<double> sums;
    std::size_t rows = 0, block_rows = 0;
  };

  template <class T>
  void set_shift(Worker& own, const T* row) const {
    kernels().of<T>().widen(row, own.shift.data(), channels_);
    for (std::size_t i = channels_; i < width_; ++i)
      own.shift[i] = own.shift[i - channels_];
  }

  template <class Fn>
  void blocks(Worker& own, std::size_t elements, Fn&& fn) {
    for (std::size_t at = 0; at < elements;) {
      const std::size_t count = std::min(
          {(most_block_rows - own.block_rows) * width_, piece_ - at % piece_, elements - at});
      fn(at, Rows{count, width_}, own.block.data(), own.block.data() + width_);
      own.block_rows += (count + width_ - 1) / width_;
      if (own.block_rows == most_block_rows)
        fold(own);
      at += count;
    }
    own.rows += elements / channels_;
  }

  void fold(Worker& own) const;
  double total(std::size_t index) const;

  std::size_t channels_ = 0, width_ = 0;
  std::size_t piece_ = 0; ///< elements that kernels may take at once
  std::vector<Worker> workers_;
};

} // namespace troupe::cpu
