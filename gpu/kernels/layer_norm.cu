#include "gpu/kernels/layer_norm.hpp"

#include "gpu/kernels/batch_norm_math.hpp"
#include "gpu/kernels/detail/row_groups.cuh"

#include <type_traits>

namespace troupe::gpu {

namespace {

constexpr int forward_packs = 4, forward_threads = 256;

/// The type of an addend that a kernel does not have.
struct NoAddend {};

__device__ void save(const LayerNorm& a, int row, float mean, float inv_std) {
  if (a.saved_mean)
    a.saved_mean[row] = mean;
  a.saved_inv_std[row] = inv_std;
}

/// Each thread keeps its part of the row in registers, while it loads an f32 addend twice as many.
template <class X, class Addend, class Y>
__global__ void __launch_bounds__(most_row_threads, std::is_same_v<Addend, float> ? 1 : 2)
    layer_norm_kernel(LayerNorm a, RowGroups groups) {
  constexpr int width = row_width, packs = forward_packs;
  const int row = groups.row();
  const int columns = groups.columns;
  const auto each_pack = [&](auto work) { groups.each_pack<width, packs>(row, work); };
  float v[packs][width];
  each_pack(
      [&](int k, int, std::size_t at) { load_floats(static_cast<const X*>(a.x) + at, v[k]); });
  if constexpr (!std::is_same_v<Addend, NoAddend>) {
    each_pack([&](int k, int, std::size_t at) {
      float addend[width];
      load_floats(static_cast<const Addend*>(a.addend) + at, addend);
#pragma unroll
      for (int i = 0; i < width; ++i)
        v[k][i] += addend[i];
    });
    each_pack([&](int k, int, std::size_t at) { store_floats(static_cast<X*>(a.sum) + at, v[k]); });
  }
  GroupSum sum_of_row{groups};
  float mean = 0, sum = 0, squares = 0;
  if (a.saved_mean) {
    each_pack([&](int k, int, std::size_t) {
#pragma unroll
      for (int i = 0; i < width; ++i)
        sum += v[k][i];
    });
    mean = sum_of_row(sum) / static_cast<float>(columns);
  }
  each_pack([&](int k, int, std::size_t) {
#pragma unroll
    for (int i = 0; i < width; ++i)
      squares = fmaf(v[k][i] - mean, v[k][i] - mean, squares);
  });
  const float inv_std = inverse_deviation(sum_of_row(squares) / static_cast<float>(columns), a.eps);
  if (groups.lane() == 0 && row < groups.rows)
    save(a, row, mean, inv_std);
  each_pack([&](int k, int c, std::size_t at) {
    float scale[width], shift[width] = {};
    load_floats(a.scale + c, scale);
    if (a.shift)
      load_floats(a.shift + c, shift);
#pragma unroll
    for (int i = 0; i < width; ++i)
      v[k][i] = normalized(v[k][i], mean, inv_std * scale[i], shift[i]);
    store_floats(static_cast<Y*>(a.y) + at, v[k]);
  });
}

/// For all shapes and types: reads the row once for each sum and once for y.
__global__ void __launch_bounds__(most_row_threads)
    any_layer_norm_kernel(LayerNorm a, LayerNormShape shape, RowGroups groups) {
  const int row = groups.row();
  const std::size_t first = static_cast<std::size_t>(row) * groups.columns;
  const void* const x = a.addend ? a.sum : a.x;
  const auto each_column = [&](auto work) {
    if (row < groups.rows)
      for (int c = groups.lane(); c < groups.columns; c += groups.threads)
        work(c);
  };
  if (a.addend)
    each_column([&](int c) {
      store_as(shape.x, a.sum, first + c,
               load_as(shape.x, a.x, first + c) + load_as(shape.other, a.addend, first + c));
    });
  GroupSum sum_of_row{groups};
  const auto columns = static_cast<float>(groups.columns);
  float mean = 0, sum = 0, squares = 0;
  if (a.saved_mean) {
    each_column([&](int c) { sum += load_as(shape.x, x, first + c); });
    mean = sum_of_row(sum) / columns;
  }
  each_column([&](int c) {
    const float difference = load_as(shape.x, x, first + c) - mean;
    squares = fmaf(difference, difference, squares);
  });
  const float inv_std = inverse_deviation(sum_of_row(squares) / columns, a.eps);
  if (groups.lane() == 0 && row < groups.rows)
    save(a, row, mean, inv_std);
  each_column([&](int c) {
    store_as(shape.y, a.y, first + c,
             normalized(load_as(shape.x, x, first + c), mean, inv_std * a.scale[c],
                        a.shift ? a.shift[c] : 0.0f));
  });
}

/// Calls fn with values of the types of x, the addend and y, if there is a fast kernel for them.
template <class Fn>
bool with_forward_types(const LayerNormShape& shape, bool add, Fn fn) {
  if (!add && shape.x == shape.y) {
    with_type(shape.x, [&](auto type) { fn(type, NoAddend{}, type); });
    return true;
  }
  if (shape.x != DType::f32 || (add && shape.other != DType::f32 && shape.other != shape.y))
    return false;
  with_type(shape.y, [&](auto y) {
    if (!add)
      fn(0.0f, NoAddend{}, y);
    else if (shape.other == DType::f32)
      fn(0.0f, 0.0f, y);
    else
      fn(0.0f, y, y);
  });
  return true;
}

} // namespace

void launch_layer_norm(cudaStream_t stream, const LayerNormShape& shape, const LayerNorm& a) {
  const auto launch = group_rows(shape.rows, shape.columns, forward_packs, forward_threads);
  const auto blocks = static_cast<unsigned>(launch.row_blocks);
  const bool packed = shape.columns % row_width == 0 &&
                      shape.columns <= most_row_threads * forward_packs * row_width &&
                      aligned_for_packs(a.x, a.addend, a.sum, a.y, a.scale, a.shift);
  const bool fast = packed && with_forward_types(shape, a.addend, [&](auto x, auto addend, auto y) {
                      layer_norm_kernel<decltype(x), decltype(addend), decltype(y)>
                          <<<blocks, launch.threads_of_block, 0, stream>>>(a, launch.groups);
                    });
  if (!fast)
    any_layer_norm_kernel<<<blocks, launch.threads_of_block, 0, stream>>>(a, shape, launch.groups);
}

} // namespace troupe::gpu
