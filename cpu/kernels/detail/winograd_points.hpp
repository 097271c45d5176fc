/// Included only by the Winograd kernels: the Toom-Cook transforms for products of polynomials at
/// the points 0, a, -a, b, -b and infinity, in one dimension. A convolution in two dimensions
/// transforms rows, then columns.
///
/// Source: A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015. They
/// use the points 0, 1, -1, 2, -2. With 5/8 and 3/2, the rounding error is half of theirs, about
/// twice that of adding the products up one by one (method to find such points: B. Barabasz et al.,
/// "Error Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks",
/// 2018).
#pragma once

#include "cpu/kernels/detail/vectors.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

constexpr float a1 = 0.625f, a2 = a1 * a1, a3 = a2 * a1;
constexpr float b1 = 1.5f, b2 = b1 * b1, b3 = b2 * b1;

/// One divided by the product of a point's distances to the other points.
constexpr float at_zero = 1 / (a2 * b2), at_a = 1 / (2 * a2 * (a2 - b2)),
                at_b = 1 / (2 * b2 * (b2 - a2));

/// Transforms six neighbours of an input, for both products below.
inline void transform_six(const Vector (&d)[6], Vector (&v)[6]) {
  const Vector odd_a = d[3] - b2 * d[1], even_a = d[4] - b2 * d[2];
  const Vector odd_b = d[3] - a2 * d[1], even_b = d[4] - a2 * d[2];
  v[0] = d[4] + (a2 * b2 * d[0] - (a2 + b2) * d[2]);
  v[1] = even_a + a1 * odd_a;
  v[2] = even_a - a1 * odd_a;
  v[3] = even_b + b1 * odd_b;
  v[4] = even_b - b1 * odd_b;
  v[5] = d[5] + (a2 * b2 * d[1] - (a2 + b2) * d[3]);
}

/// F(4, 3): three weights, and four neighbours of the output.
inline void transform_weights(const Vector (&g)[3], Vector (&u)[6]) {
  const Vector even_a = at_a * (g[0] + a2 * g[2]), even_b = at_b * (g[0] + b2 * g[2]);
  u[0] = at_zero * g[0];
  u[1] = even_a + at_a * a1 * g[1];
  u[2] = even_a - at_a * a1 * g[1];
  u[3] = even_b + at_b * b1 * g[1];
  u[4] = even_b - at_b * b1 * g[1];
  u[5] = g[2];
}

inline void transform_output(const Vector (&m)[6], Vector (&y)[4]) {
  const Vector sum_a = m[1] + m[2], difference_a = m[1] - m[2];
  const Vector sum_b = m[3] + m[4], difference_b = m[3] - m[4];
  y[0] = m[0] + sum_a + sum_b;
  y[1] = a1 * difference_a + b1 * difference_b;
  y[2] = a2 * sum_a + b2 * sum_b;
  y[3] = m[5] + a3 * difference_a + b3 * difference_b;
}

/// F(3, 4): four neighbours of the output's gradient, and the gradients of the three weights. The
/// factors of the points are in the latter transform, which runs once for all tiles.
inline void transform_gradient(const Vector (&g)[4], Vector (&u)[6]) {
  const Vector even_a = g[0] + a2 * g[2], odd_a = g[1] + a2 * g[3];
  const Vector even_b = g[0] + b2 * g[2], odd_b = g[1] + b2 * g[3];
  u[0] = g[0];
  u[1] = even_a + a1 * odd_a;
  u[2] = even_a - a1 * odd_a;
  u[3] = even_b + b1 * odd_b;
  u[4] = even_b - b1 * odd_b;
  u[5] = g[3];
}

inline void transform_weight_gradient(const Vector (&m)[6], Vector (&g)[3]) {
  const Vector sum_a = at_a * (m[1] + m[2]), sum_b = at_b * (m[3] + m[4]);
  g[0] = at_zero * m[0] + sum_a + sum_b;
  g[1] = at_a * a1 * (m[1] - m[2]) + at_b * b1 * (m[3] - m[4]);
  g[2] = m[5] + a2 * sum_a + b2 * sum_b;
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
