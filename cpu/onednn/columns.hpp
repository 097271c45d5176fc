/// Tensors as rows of channels, cut among threads; and sums per channel over them.
#pragma once

#include "../kernels/kernels.hpp"
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

/// Two sums per channel. Each worker adds up blocks of rows in f32 and the blocks in double;
/// workers are added in order, so that a fixed number of threads gives the same bits every time.
class ColumnSums {
public:
  void begin(const Columns& columns, std::size_t workers);

  /// Adds rows of x and their squares. They are taken relative to the worker's first row, which
  /// keeps the squares small.
  template <class T>
  void add(std::size_t worker, const T* x, std::size_t elements) {
    auto& own = workers_[worker];
    if (own.rows == 0)
      for (std::size_t i = 0; i < width_; ++i)
        own.shift[i] = as_float(x[i % channels_]);
    blocks(own, elements, [&](std::size_t at, Rows rows, float* sum, float* squares) {
      kernels().of<T>().statistics(x + at, rows, own.shift.data(), sum, squares);
    });
  }

  /// Adds v and v * (x - mean); `views` is without sums.
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

  struct Moments {
    double mean, variance; ///< biased
  };
  /// After add().
  Moments moments(std::size_t channel) const;
  /// After add_backward(): of v, and of v * (x - mean).
  double sum(std::size_t channel) const { return total(channel); }
  double sum_x(std::size_t channel) const { return total(channels_ + channel); }

private:
  static constexpr std::size_t block_rows = 128;

  struct Worker {
    std::vector<float> shift, block;
    std::vector<double> sums;
    std::size_t rows = 0;
  };

  static float as_float(float value) { return value; }
  static float as_float(Bf16 value) {
    float result;
    kernels().widen(&value, &result, 1);
    return result;
  }

  template <class Fn>
  void blocks(Worker& own, std::size_t elements, Fn&& fn) {
    for (std::size_t at = 0; at < elements; at += block_rows * width_) {
      std::fill(own.block.begin(), own.block.end(), 0.0f);
      fn(at, Rows{std::min(block_rows * width_, elements - at), width_}, own.block.data(),
         own.block.data() + width_);
      fold(own);
    }
    own.rows += elements / channels_;
  }

  void fold(Worker& own) const;
  double total(std::size_t index) const;

  std::size_t channels_ = 0, width_ = 0;
  std::vector<Worker> workers_;
};

} // namespace troupe::cpu
