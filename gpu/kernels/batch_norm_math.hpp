/// The arithmetic of batch norm per channel and per element, for host and CUDA code. Ioffe &
/// Szegedy 2015.
#pragma once

#include "core/host_and_device.hpp"

#include <cmath>

namespace troupe::gpu {

struct ChannelMoments {
  float mean, variance; ///< biased
};

/// Computes the moments from the sums of (x - origin) and (x - origin)² over `rows` values. An
/// origin near the mean avoids cancellation in the variance.
TROUPE_HOST_DEVICE inline ChannelMoments moments(double sum, double squares, double origin,
                                                 double rows) {
  const double offset = sum / rows;
  const double variance = squares / rows - offset * offset;
  return {static_cast<float>(origin + offset),
          static_cast<float>(variance > 0   ? variance
                             : variance < 0 ? 0
                                            : variance)}; // keeps NaN
}

TROUPE_HOST_DEVICE inline float inverse_deviation(float variance, float eps) {
  return static_cast<float>(1 /
                            std::sqrt(static_cast<double>(variance) + static_cast<double>(eps)));
}

/// Returns the running value after a batch.
TROUPE_HOST_DEVICE inline float running(float before, float batch, float momentum) {
  return (1 - momentum) * before + momentum * batch;
}

TROUPE_HOST_DEVICE inline float unbiased(float variance, double rows) {
  return static_cast<float>(static_cast<double>(variance) * rows / (rows - 1));
}

/// `gain` is scale · inverse deviation. Must stay this one expression: backward recomputes relu's
/// mask with it.
TROUPE_HOST_DEVICE inline float normalized(float x, float mean, float gain, float shift) {
  return fmaf(x - mean, gain, shift);
}

/// relu(x * factor + offset). Forward and backward each compute it, because the result is not
/// stored.
TROUPE_HOST_DEVICE inline float normalized_relu(float x, float factor, float offset) {
  const float value = fmaf(x, factor, offset);
  return value < 0 ? 0 : value; // keeps NaN
}

/// dx = gain·dy + x_factor·(x - mean) + constant.
struct BackwardCoefficients {
  float mean, gain, x_factor, constant;
};

/// With h = (x - mean)·inv_std over M rows: dx = scale·inv_std·(dy - sum(dy)/M - h·sum(dy·h)/M),
/// dshift = sum(dy), dscale = sum(dy·h).
TROUPE_HOST_DEVICE inline BackwardCoefficients backward_coefficients(float mean, float inv_std,
                                                                     float scale, float dscale,
                                                                     float dshift, double rows) {
  const float gain = scale * inv_std;
  const auto inverse_rows = static_cast<float>(1 / rows);
  return {mean, gain, -gain * inv_std * dscale * inverse_rows, -gain * dshift * inverse_rows};
}

TROUPE_HOST_DEVICE inline float backward_element(const BackwardCoefficients& c, float dy, float x) {
  return fmaf(c.gain, dy, fmaf(c.x_factor, x - c.mean, c.constant));
}

} // namespace troupe::gpu
