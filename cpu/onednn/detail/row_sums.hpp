/// Sums over the rows of a matrix.
#pragma once

#include "cpu/onednn/detail/step.hpp"
#include "cpu/parallel.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe::cpu {

/// Each thread adds up blocks of its rows in f32 and the blocks in f64; threads are added in order.
class RowSums {
public:
  RowSums(std::size_t sums, std::size_t threads) : sums_{sums}, threads_{threads} {}

  std::size_t scratch_bytes() const { return threads_ * part_bytes(); }

  /// add(block, first, count) adds `count` rows to the sums in `block`. Fewer rows than `grain` are
  /// not worth another thread. store(i, sum) receives each total.
  template <class Add, class Store>
  void run(std::byte* scratch, std::size_t rows, std::size_t grain, Add add, Store store) const {
    const std::size_t parts = parts_of(rows, grain);
    parallel_parts(parts, [&](std::size_t part, std::size_t) {
      add_rows(sums_of(scratch, part), rows * part / parts, rows * (part + 1) / parts, add);
    });
    for (std::size_t i = 0; i < sums_; ++i) {
      double total = 0;
      for (std::size_t part = 0; part < parts; ++part)
        total += sums_of(scratch, part)[i];
      store(i, static_cast<float>(total));
    }
  }

private:
  static constexpr std::size_t block_rows = 128;

  /// Memory of a thread: its sums, and those of a block.
  std::size_t part_bytes() const { return aligned(sums_ * (sizeof(double) + sizeof(float))); }
  double* sums_of(std::byte* scratch, std::size_t part) const {
    return reinterpret_cast<double*>(scratch + part * part_bytes());
  }

  template <class Add>
  void add_rows(double* sums, std::size_t begin, std::size_t end, Add add) const {
    auto* const block = reinterpret_cast<float*>(sums + sums_);
    std::fill_n(sums, sums_, 0.0);
    for (std::size_t row = begin; row < end; row += block_rows) {
      std::fill_n(block, sums_, 0.0f);
      add(block, row, std::min(block_rows, end - row));
      for (std::size_t i = 0; i < sums_; ++i)
        sums[i] += static_cast<double>(block[i]);
    }
  }

  std::size_t sums_, threads_;
};

} // namespace troupe::cpu
