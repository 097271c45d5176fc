/// Included only by the bf16 Winograd kernels: F(2, 3), the products at the points 0, 1, -1 and
/// infinity. All factors but one half are 1 or -1, so that values are rounded to bf16 only once.
///
/// Source: A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015.
#pragma once

#include "cpu/kernels/detail/vectors.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

/// Transforms four neighbours of an input.
inline void transform_four(const Vector (&d)[4], Vector (&v)[4]) {
  v[0] = d[0] - d[2];
  v[1] = d[1] + d[2];
  v[2] = d[2] - d[1];
  v[3] = d[1] - d[3];
}

inline void transform_three_weights(const Vector (&g)[3], Vector (&u)[4]) {
  const Vector even = 0.5f * (g[0] + g[2]), odd = 0.5f * g[1];
  u[0] = g[0];
  u[1] = even + odd;
  u[2] = even - odd;
  u[3] = g[2];
}

inline void transform_two_outputs(const Vector (&m)[4], Vector (&y)[2]) {
  y[0] = m[0] + m[1] + m[2];
  y[1] = m[1] - m[2] - m[3];
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
