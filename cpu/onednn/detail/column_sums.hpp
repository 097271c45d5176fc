/// Sums per channel.
#pragma once

#include "cpu/kernels/kernels.hpp"
#include "cpu/onednn/detail/columns.hpp"

#include <algorithm>
#include <vector>

namespace troupe::cpu {

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
