/// Kernels in which each warp handles one row at a time.
#pragma once

#include "gpu/kernels/detail/each.cuh"
#include "gpu/kernels/detail/reduce.cuh"

#include <cstdint>
#include <type_traits>

namespace troupe::gpu {

inline constexpr int row_warps = each_threads / 32;

template <auto Kernel>
unsigned blocks_for_rows(std::int64_t rows) {
  return grid_for<Kernel>(static_cast<std::size_t>(rows) * 32);
}

/// Calls work(row, lane) for the warp's rows.
template <class Work>
__device__ void for_rows(std::int64_t rows, Work work) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * row_warps + threadIdx.x / 32;
  for (std::int64_t row = first; row < rows;
       row += static_cast<std::int64_t>(gridDim.x) * row_warps)
    work(static_cast<std::size_t>(row), static_cast<int>(threadIdx.x % 32));
}

/// Returns the warp's sum of what term(column, sum) adds to each lane's sum.
template <int Width, class Term>
__device__ float sum_of_row(int columns, int lane, Term term) {
  float sum = 0;
  for (int c = lane * Width; c < columns; c += 32 * Width)
    term(c, sum);
  return warp_sum(sum);
}

/// Calls fn(width, element) with a compile-time width and a value of the type. The width is a pack
/// if the columns and these addresses allow it, else 1.
template <class Fn, class... Pointers>
void with_width_and_type(DType dtype, std::int64_t columns, Fn fn, const Pointers*... pointers) {
  with_type(dtype, [&](auto type) {
    with_width<decltype(type)>(
        columns, [&](auto width) { fn(width, type); }, pointers...);
  });
}

} // namespace troupe::gpu
