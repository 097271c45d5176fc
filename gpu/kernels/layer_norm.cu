#include "gpu/kernels/batch_norm_math.hpp"
#include "gpu/kernels/detail/columns.cuh"
#include "gpu/kernels/detail/rows.cuh"
#include "gpu/kernels/layer_norm.hpp"

namespace troupe::gpu {

namespace {

template <int Width, class T>
__global__ void __launch_bounds__(each_threads)
    layer_norm_kernel(LayerNorm a, std::int64_t rows, int columns) {
  for_rows(rows, [&](std::size_t row, int lane) {
    const T* const x = static_cast<const T*>(a.x) + row * columns;
    T* const y = static_cast<T*>(a.y) + row * columns;
    float v[Width];
    float mean = 0;
    if (a.saved_mean)
      mean = sum_of_row<Width>(columns, lane,
                               [&](int c, float& sum) {
                                 load_floats(x + c, v);
#pragma unroll
                                 for (int i = 0; i < Width; ++i)
                                   sum += v[i];
                               }) /
             static_cast<float>(columns);
    const float squares = sum_of_row<Width>(columns, lane, [&](int c, float& sum) {
      load_floats(x + c, v);
#pragma unroll
      for (int i = 0; i < Width; ++i)
        sum = fmaf(v[i] - mean, v[i] - mean, sum);
    });
    const float inv_std = inverse_deviation(squares / static_cast<float>(columns), a.eps);
    if (lane == 0) {
      if (a.saved_mean)
        a.saved_mean[row] = mean;
      a.saved_inv_std[row] = inv_std;
    }
    for (int c = lane * Width; c < columns; c += 32 * Width) {
      load_floats(x + c, v);
#pragma unroll
      for (int i = 0; i < Width; ++i)
        v[i] = normalized(v[i], mean, inv_std * a.scale[c + i], a.shift ? a.shift[c + i] : 0.0f);
      store_floats(y + c, v);
    }
  });
}

/// g and h of Width columns of a row (layer_norm_gradient).
template <int Width>
struct Terms {
  float g[Width], h[Width];

  template <class T>
  __device__ Terms(const T* dy, const T* x, const float* scale, float mean, float inv_std, int c) {
    load_floats(dy + c, g);
    load_floats(x + c, h);
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      g[i] *= scale[c + i];
      h[i] = (h[i] - mean) * inv_std;
    }
  }
};

template <int Width, class T>
__global__ void __launch_bounds__(each_threads)
    input_gradient_kernel(LayerNormBackward a, std::int64_t rows, int columns) {
  for_rows(rows, [&](std::size_t row, int lane) {
    const T* const dy = static_cast<const T*>(a.dy) + row * columns;
    const T* const x = static_cast<const T*>(a.x) + row * columns;
    T* const dx = static_cast<T*>(a.dx) + row * columns;
    const float mean = a.mean ? a.mean[row] : 0.0f, inv_std = a.inv_std[row];
    float sum_g = 0, sum_gh = 0;
    for (int c = lane * Width; c < columns; c += 32 * Width) {
      const Terms<Width> t{dy, x, a.scale, mean, inv_std, c};
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        sum_g += t.g[i];
        sum_gh = fmaf(t.g[i], t.h[i], sum_gh);
      }
    }
    const float mean_g = a.mean ? warp_sum(sum_g) / static_cast<float>(columns) : 0.0f;
    const float mean_gh = warp_sum(sum_gh) / static_cast<float>(columns);
    for (int c = lane * Width; c < columns; c += 32 * Width) {
      const Terms<Width> t{dy, x, a.scale, mean, inv_std, c};
      float d[Width];
#pragma unroll
      for (int i = 0; i < Width; ++i)
        d[i] = layer_norm_gradient(t.g[i], t.h[i], inv_std, mean_g, mean_gh);
      store_floats(dx + c, d);
    }
  });
}

template <int Width, class T>
__global__ void __launch_bounds__(column_threads)
    column_sums_kernel(LayerNormBackward a, Columns columns, ReductionScratch scratch) {
  const int column = columns.first_channel(Width);
  float scales[Width] = {}, shifts[Width] = {};
  if (column < columns.channels)
    for (auto row = columns.first_row(); row < columns.rows; row += columns.row_stride()) {
      const auto at = static_cast<std::size_t>(row) * columns.channels + column;
      float d[Width], v[Width];
      load_floats(static_cast<const T*>(a.dy) + at, d);
      load_floats(static_cast<const T*>(a.x) + at, v);
      const float mean = a.mean ? a.mean[row] : 0.0f, inv_std = a.inv_std[row];
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        shifts[i] += d[i];
        scales[i] = fmaf(d[i], (v[i] - mean) * inv_std, scales[i]);
      }
    }
  sum_columns(columns, scales, shifts, scratch, [&](int c, double scale, double shift) {
    a.dscale[c] = static_cast<float>(scale);
    if (a.dshift)
      a.dshift[c] = static_cast<float>(shift);
  });
}

} // namespace

void launch_layer_norm(cudaStream_t stream, const LayerNormShape& shape, const LayerNorm& a) {
  with_width_and_type(
      shape.dtype, shape.columns,
      [&](auto width, auto type) {
        constexpr auto kernel = layer_norm_kernel<decltype(width)::value, decltype(type)>;
        kernel<<<blocks_for_rows<kernel>(shape.rows), each_threads, 0, stream>>>(
            a, shape.rows, static_cast<int>(shape.columns));
      },
      a.x, a.y);
}

void launch_layer_norm_backward(cudaStream_t stream, const LayerNormShape& shape,
                                const LayerNormBackward& a, const ReductionScratch& scratch) {
  with_width_and_type(
      shape.dtype, shape.columns,
      [&](auto width, auto type) {
        using T = decltype(type);
        constexpr int w = decltype(width)::value;
        const auto sums = spread(shape.rows, shape.columns, w, reduction_blocks);
        column_sums_kernel<w, T>
            <<<sums.blocks, column_threads, 0, stream>>>(a, sums.columns, scratch);
        constexpr auto kernel = input_gradient_kernel<w, T>;
        kernel<<<blocks_for_rows<kernel>(shape.rows), each_threads, 0, stream>>>(
            a, shape.rows, static_cast<int>(shape.columns));
      },
      a.dy, a.x, a.dx);
}

} // namespace troupe::gpu
