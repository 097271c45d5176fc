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

/// Two sums per channel. Each thread adds up blocks of rows in f32 and the blocks in double;
/// threads are added in order, so that a fixed number of threads gives the same bits every time.
template <class T>
class ColumnSums {
public:
  /// Of x - shift and its square; the shift (the first row) keeps the squares small.
  void add(const Columns& columns, const T* x) {
    shift_.resize(columns.width());
    for (std::size_t i = 0; i < columns.width(); ++i)
      shift_[i] = as_float(x[i % columns.channels()]);
    run(columns, [&](std::size_t at, Rows rows, float* sum, float* squares) {
      kernels().of<T>().statistics(x + at, rows, shift_.data(), sum, squares);
    });
  }

  /// Of v and v * (x - mean); `views` is without sums.
  void add_backward(const Columns& columns, const BackwardSums<T>& views) {
    run(columns, [&](std::size_t at, Rows rows, float* sum, float* sum_x) {
      kernels().of<T>().backward_sums(
          {views.dy + at, views.x + at, views.y ? views.y + at : nullptr,
           views.masked ? views.masked + at : nullptr, views.mean, sum, sum_x},
          rows);
    });
  }

  double sum(std::size_t channel) const { return totals_[channel]; }
  double sum_squares(std::size_t channel) const { return totals_[channels_ + channel]; }
  double shift(std::size_t channel) const { return static_cast<double>(shift_[channel]); }

private:
  static constexpr std::size_t block_rows = 128;

  static float as_float(float value) { return value; }
  static float as_float(Bf16 value) {
    float result;
    kernels().widen(&value, &result, 1);
    return result;
  }

  template <class Fn>
  void run(const Columns& columns, Fn&& fn) {
    channels_ = columns.channels();
    const std::size_t width = columns.width(), parts = columns.parts();
    partial_.assign(parts, std::vector<double>());
    columns.for_parts([&](std::size_t part, std::size_t begin, std::size_t end) {
      std::vector<float> block(2 * width);
      std::vector<double> sums(2 * channels_);
      for (std::size_t at = begin; at < end; at += block_rows * width) {
        std::fill(block.begin(), block.end(), 0.0f);
        fn(at, Rows{std::min(block_rows * width, end - at), width}, block.data(),
           block.data() + width);
        for (std::size_t half = 0; half < 2; ++half)
          for (std::size_t i = 0; i < width; i += channels_)
            for (std::size_t c = 0; c < channels_; ++c)
              sums[half * channels_ + c] += static_cast<double>(block[half * width + i + c]);
      }
      partial_[part] = std::move(sums);
    });
    totals_.assign(2 * channels_, 0.0);
    for (const auto& sums : partial_)
      for (std::size_t i = 0; i < sums.size(); ++i)
        totals_[i] += sums[i];
  }

  std::size_t channels_ = 0;
  std::vector<float> shift_;
  std::vector<std::vector<double>> partial_;
  std::vector<double> totals_;
};

} // namespace troupe::cpu
