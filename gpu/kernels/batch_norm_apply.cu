#include "gpu/kernels/batch_norm.hpp"
#include "gpu/kernels/batch_norm_math.hpp"
#include "gpu/kernels/detail/per_channel.cuh"

namespace troupe::gpu {

namespace {

__device__ inline float relu_if(bool relu, float value) {
  return relu && value < 0 ? 0 : value; // keeps NaN
}

/// Inputs: x, residual.
struct Normalize {
  static constexpr bool makes_mask = true;
  struct Coefficients {
    float mean, gain, shift;
  };
  const float *scale, *shift, *mean, *inv_std, *variance;
  float eps;
  bool relu;

  __device__ Coefficients load(int c) const {
    const float deviation = inv_std ? inv_std[c] : inverse_deviation(variance[c], eps);
    return {mean[c], scale[c] * deviation, shift[c]};
  }
  __device__ float apply(const Coefficients& c, float x, float residual, float) const {
    return relu_if(relu, normalized(x, c.mean, c.gain, c.shift) + residual);
  }
};

/// Inputs: x, z.
struct ScaleShift {
  static constexpr bool makes_mask = true;
  struct Coefficients {
    float scale, shift, z_scale;
  };
  const float *scale, *shift, *z_scale, *z_shift;
  bool relu;

  __device__ Coefficients load(int c) const {
    return {scale[c], z_shift ? shift[c] + z_shift[c] : shift[c], z_scale ? z_scale[c] : 1.0f};
  }
  __device__ float apply(const Coefficients& c, float x, float z, float) const {
    return relu_if(relu, fmaf(x, c.scale, fmaf(z, c.z_scale, c.shift)));
  }
};

/// Inputs: dy, x.
struct LinearGradient {
  static constexpr bool makes_mask = false;
  struct Coefficients {
    float a, b, c;
  };
  DbnApply arguments;

  __device__ Coefficients load(int channel) const {
    if (arguments.dscale && blockIdx.y == 0) { // all threads of a channel write the same value
      arguments.dscale_copy[channel] = arguments.dscale[channel];
      arguments.dshift_copy[channel] = arguments.dshift[channel];
    }
    return {arguments.a[channel], arguments.b[channel], arguments.c[channel]};
  }
  __device__ float apply(const Coefficients& k, float dy, float x, float) const {
    return fmaf(k.a, dy, fmaf(k.b, x, k.c));
  }
};

/// Launches with one input, or with two if `second` is not null.
template <class Map>
void launch_one_or_two(cudaStream_t stream, const BatchNormShape& shape, const void* first,
                       const void* second, void* output, const Map& map,
                       std::uint8_t* mask = nullptr) {
  with_type(shape.dtype, [&](auto type) {
    using T = decltype(type);
    const Inputs<T> in{static_cast<const T*>(first), static_cast<const T*>(second)};
    auto* const to = static_cast<T*>(output);
    if (second)
      launch_per_channel<2>(stream, in, to, shape.rows, shape.channels, map, mask);
    else
      launch_per_channel<1>(stream, in, to, shape.rows, shape.channels, map, mask);
  });
}

} // namespace

void launch_batch_norm_apply(cudaStream_t stream, const BatchNormShape& shape,
                             const BatchNormApply& a) {
  launch_one_or_two(stream, shape, a.x, a.residual, a.y,
                    Normalize{a.scale, a.shift, a.mean, a.inv_std, a.variance, a.eps, a.relu},
                    a.mask);
}

void launch_scale_bias(cudaStream_t stream, const BatchNormShape& shape, const ScaleBias& a) {
  launch_one_or_two(stream, shape, a.x, a.z, a.y,
                    ScaleShift{a.scale, a.shift, a.z_scale, a.z_shift, a.relu}, a.mask);
}

void launch_dbn_apply(cudaStream_t stream, const BatchNormShape& shape, const DbnApply& a) {
  launch_one_or_two(stream, shape, a.dy, a.x, a.dx, LinearGradient{a});
}

} // namespace troupe::gpu
