#include "gpu/kernels/detail/columns.cuh"
#include "gpu/kernels/detail/each.cuh"
#include "gpu/kernels/elementwise.hpp"

#include <algorithm>

namespace troupe::gpu {

namespace {

struct Relu {
  __device__ float operator()(float x) const { return x < 0 ? 0 : x; }
};

struct ReluBackward {
  __device__ float operator()(float dy, float y) const { return y > 0 ? dy : 0; }
};

struct Gelu {
  bool tanh;
  __device__ float operator()(float x) const { return x * gelu_gate(x, tanh).value; }
};

/// Not a Map: with its loop, the compiler chooses another fused multiply-add, and results change.
template <class T>
struct GeluBackward {
  const T *dy, *x;
  T* dx;
  bool tanh;

  template <int Width>
  __device__ void run(std::size_t at) const {
    float d[Width], v[Width];
    load_floats(dy + at, d);
    load_floats(x + at, v);
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      const auto gate = gelu_gate(v[i], tanh);
      d[i] *= gate.value + v[i] * gate.slope;
    }
    store_floats(dx + at, d);
  }
};

struct Swiglu {
  __device__ float operator()(float gate, float up) const { return up * swish(gate).value; }
};

template <class T>
struct SwigluBackward {
  const T *dy, *gate, *up;
  T *dgate, *dup;

  template <int Width>
  __device__ void run(std::size_t at) const {
    float d[Width], g[Width], u[Width];
    load_floats(dy + at, d);
    load_floats(gate + at, g);
    load_floats(up + at, u);
#pragma unroll
    for (int i = 0; i < Width; ++i) {
      const auto gated = swish(g[i]);
      g[i] = d[i] * u[i] * gated.slope;
      u[i] = d[i] * gated.value;
    }
    store_floats(dgate + at, g);
    store_floats(dup + at, u);
  }
};

template <class T>
struct Bias {
  const T* x;
  const float* bias;
  T* y;
  std::size_t columns;

  template <int Width>
  __device__ void run(std::size_t at) const {
    float v[Width];
    load_floats(x + at, v);
#pragma unroll
    for (int i = 0; i < Width; ++i)
      v[i] += bias[(at + i) % columns];
    store_floats(y + at, v);
  }
};

/// Even and odd rows of a thread have separate sums, so that its additions do not wait for each
/// other. `distance`: elements from row to row.
template <int Width, class T>
__global__ void __launch_bounds__(column_threads)
    bias_backward_kernel(const T* dy, int distance, float* dbias, Columns columns,
                         ReductionScratch scratch) {
  const int column = columns.first_channel(Width);
  float even[Width] = {}, odd[Width] = {};
  if (column < columns.channels) {
    const std::int64_t stride = columns.row_stride();
#pragma unroll 2
    for (std::int64_t row = columns.first_row(); row < columns.rows; row += 2 * stride) {
      const bool two = row + stride < columns.rows;
      const auto at = static_cast<std::size_t>(row) * distance + column;
      float first[Width], second[Width] = {};
      load_floats(dy + at, first);
      if (two)
        load_floats(dy + at + static_cast<std::size_t>(stride) * distance, second);
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        even[i] += first[i];
        odd[i] += second[i];
      }
    }
  }
  sum_columns(columns, even, odd, scratch,
              [&](int c, double a, double b) { dbias[c] = static_cast<float>(a + b); });
}

/// A thread writes one output element at a time.
template <class T>
struct SubsamplePad {
  const T* x;
  T* y;
  SubsampleShape s;

  template <int Width>
  __device__ void run(std::size_t at) const {
    static_assert(Width == 1);
    const int channel = static_cast<int>(at % s.y_channels) - s.pad_before;
    std::size_t pixel = at / s.y_channels;
    const auto w = pixel % s.y_width;
    pixel /= s.y_width;
    const auto h = pixel % s.y_height, n = pixel / s.y_height;
    const bool inside = channel >= 0 && channel < s.x_channels;
    y[at] = inside ? x[((n * s.x_height + h * s.stride) * s.x_width + w * s.stride) * s.x_channels +
                       channel]
                   : from_float<T>(0);
  }
};

template <class T>
struct SubsamplePadBackward {
  const T* dy;
  T* dx;
  SubsampleShape s;

  template <int Width>
  __device__ void run(std::size_t at) const {
    static_assert(Width == 1);
    const auto channel = at % s.x_channels;
    std::size_t pixel = at / s.x_channels;
    const auto w = pixel % s.x_width;
    pixel /= s.x_width;
    const auto h = pixel % s.x_height, n = pixel / s.x_height;
    const auto stride = static_cast<std::size_t>(s.stride);
    const bool taken = h % stride == 0 && w % stride == 0;
    dx[at] = taken ? dy[((n * s.y_height + h / stride) * s.y_width + w / stride) * s.y_channels +
                        s.pad_before + channel]
                   : from_float<T>(0);
  }
};

std::size_t elements(int batch, int height, int width, int channels) {
  return static_cast<std::size_t>(batch) * height * width * channels;
}

} // namespace

void launch_relu(cudaStream_t stream, DType dtype, const void* x, void* y, std::size_t elements) {
  launch_map(stream, dtype, Relu{}, y, elements, x);
}

void launch_relu_backward(cudaStream_t stream, DType dtype, const void* dy, const void* y, void* dx,
                          std::size_t elements) {
  launch_map(stream, dtype, ReluBackward{}, dx, elements, dy, y);
}

void launch_gelu(cudaStream_t stream, DType dtype, const void* x, void* y, std::size_t elements,
                 bool tanh) {
  launch_map(stream, dtype, Gelu{tanh}, y, elements, x);
}

void launch_gelu_backward(cudaStream_t stream, DType dtype, const void* dy, const void* x, void* dx,
                          std::size_t elements, bool tanh) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<pack_width<T>>(stream,
                               GeluBackward<T>{static_cast<const T*>(dy), static_cast<const T*>(x),
                                               static_cast<T*>(dx), tanh},
                               elements, aligned_for_packs(dy, x, dx));
  });
}

void launch_swiglu(cudaStream_t stream, DType dtype, const void* gate, const void* up, void* y,
                   std::size_t elements) {
  launch_map(stream, dtype, Swiglu{}, y, elements, gate, up);
}

void launch_swiglu_backward(cudaStream_t stream, DType dtype, const void* dy, const void* gate,
                            const void* up, void* dgate, void* dup, std::size_t elements) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<pack_width<T>>(
        stream,
        SwigluBackward<T>{static_cast<const T*>(dy), static_cast<const T*>(gate),
                          static_cast<const T*>(up), static_cast<T*>(dgate), static_cast<T*>(dup)},
        elements, aligned_for_packs(dy, gate, up, dgate, dup));
  });
}

void launch_bias(cudaStream_t stream, DType dtype, const void* x, const float* bias, void* y,
                 std::int64_t rows, std::int64_t columns) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<pack_width<T>>(stream,
                               Bias<T>{static_cast<const T*>(x), bias, static_cast<T*>(y),
                                       static_cast<std::size_t>(columns)},
                               static_cast<std::size_t>(rows * columns), aligned_for_packs(x, y));
  });
}

void launch_bias_backward(cudaStream_t stream, DType dtype, const void* dy, float* dbias,
                          std::int64_t rows, std::int64_t columns,
                          const ReductionScratch& scratch) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    with_width<T>(
        columns,
        [&](auto width) {
          constexpr int wide = width;
          constexpr auto most = most_channels_of_sums(wide);
          for (std::int64_t first = 0; first < columns; first += most) {
            const auto on = spread(rows, std::min(most, columns - first), wide, reduction_blocks);
            bias_backward_kernel<wide><<<on.blocks, column_threads, 0, stream>>>(
                static_cast<const T*>(dy) + first, static_cast<int>(columns), dbias + first,
                on.columns, scratch);
          }
        },
        dy);
  });
}

void launch_subsample_pad(cudaStream_t stream, DType dtype, const void* x, void* y,
                          const SubsampleShape& s) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<1>(stream, SubsamplePad<T>{static_cast<const T*>(x), static_cast<T*>(y), s},
                   elements(s.batch, s.y_height, s.y_width, s.y_channels), true);
  });
}

void launch_subsample_pad_backward(cudaStream_t stream, DType dtype, const void* dy, void* dx,
                                   const SubsampleShape& s) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    launch_each<1>(stream,
                   SubsamplePadBackward<T>{static_cast<const T*>(dy), static_cast<T*>(dx), s},
                   elements(s.batch, s.x_height, s.x_width, s.x_channels), true);
  });
}

} // namespace troupe::gpu
