/// Included only by the kernel sources: products of matrices that fit into a core's caches, with
/// sums in registers. A matrix of channels lies in groups of 16 columns, (columns / 16, rows, 16):
/// distances are then constants, and a group is one to four vectors. Operands are floats, or pairs
/// of bf16: of neighbouring columns of the left matrix and neighbouring rows of the right one.
#pragma once

#include "cpu/kernels/detail/bf16_vectors.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

constexpr std::size_t group = 16, group_vectors = group / lanes;

/// Sums of products for `rows` rows and `groups` groups of columns, `vectors` a row.
template <std::size_t rows, std::size_t groups>
struct Sums {
  static constexpr std::size_t vectors = groups * group_vectors;
  Vector values[rows][vectors];

  static std::size_t offset(std::size_t v, std::size_t group_stride) {
    return v / group_vectors * group_stride + v % group_vectors * lanes;
  }
  void load(const float* c, std::size_t group_stride) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t v = 0; v < vectors; ++v)
        values[r][v] = load_vector(c + r * group + offset(v, group_stride));
  }
  void store(float* c, std::size_t group_stride) const {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t v = 0; v < vectors; ++v)
        store_vector(c + r * group + offset(v, group_stride), values[r][v]);
  }
  /// Runs one step: a row of b, and for each row r of c the value left(r).
  template <class Left, class T>
  void add_row(const Left& left, const T* b, std::size_t group_stride) {
    decltype(load_vector(b)) row[vectors];
    for (std::size_t v = 0; v < vectors; ++v)
      row[v] = load_vector(b + offset(v, group_stride));
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t v = 0; v < vectors; ++v)
        values[r][v] = add_product(values[r][v], left(r), row[v]);
  }
  /// The same, with values of a at a constant distance.
  template <std::size_t stride, class T>
  void add(const T* a, const T* b, std::size_t group_stride) {
    add_row([a](std::size_t r) { return a[r * stride]; }, b, group_stride);
  }
};

/// A product's matrices, each with the elements from one group of columns to the next.
template <class T>
struct Product {
  const T* a;
  std::size_t a_group;
  const T* b;
  std::size_t b_group;
  float* c;
  std::size_t c_group;
};

/// c = a * b, for `rows` rows of a.
template <std::size_t rows, std::size_t groups, class T>
void multiply_rows(const Product<T>& p, std::size_t steps) {
  Sums<rows, groups> sums{};
  for (std::size_t g = 0; g < steps / group; ++g)
    for (std::size_t step = 0; step < group; ++step)
      sums.template add<group>(p.a + g * p.a_group + step, p.b + (g * group + step) * group,
                               p.b_group);
  sums.store(p.c, p.c_group);
}

/// c += a^T * b, for `rows` columns of a that lie in one group.
template <std::size_t rows, std::size_t groups>
void add_transposed_rows(const Product<float>& p, std::size_t steps) {
  Sums<rows, groups> sums;
  sums.load(p.c, p.c_group);
  for (std::size_t step = 0; step < steps; ++step)
    sums.template add<1>(p.a + step * group, p.b + step * group, p.b_group);
  sums.store(p.c, p.c_group);
}

/// Rows whose sums fit into the registers, with one or two groups of columns.
constexpr std::size_t rows_of_one = lanes == 16 ? 16 : lanes == 8 ? 4 : 2, rows_of_two = 8;

template <std::size_t rows, std::size_t groups, class T>
void multiply_groups(Product<T> p, std::size_t count, std::size_t steps) {
  for (; count >= rows; count -= rows) {
    multiply_rows<rows, groups>(p, steps);
    p.a += rows * group;
    p.c += rows * group;
  }
  if constexpr (rows > 1)
    if (count > 0)
      multiply_groups<rows / 2, groups>(p, count, steps);
}

template <std::size_t rows, std::size_t groups>
void add_transposed_groups(Product<float> p, std::size_t count, std::size_t steps) {
  for (std::size_t row = 0; row < count; row += rows) {
    const std::size_t column = row % group;
    add_transposed_rows<rows, groups>(
        {p.a + row / group * p.a_group + column, 0, p.b, p.b_group, p.c + row * group, p.c_group},
        steps);
  }
}

template <class T>
Product<T> at_group(const Product<T>& p, std::size_t g) {
  return {p.a, p.a_group, p.b + g * p.b_group, p.b_group, p.c + g * p.c_group, p.c_group};
}

/// c = a * b: (rows, steps) by (steps, columns).
template <class T>
void multiply(const Product<T>& p, std::size_t rows, std::size_t steps, std::size_t columns) {
  const std::size_t groups = columns / group;
  std::size_t g = 0;
  if constexpr (lanes == 16)
    for (; g + 2 <= groups; g += 2)
      multiply_groups<rows_of_two, 2>(at_group(p, g), rows, steps);
  for (; g < groups; ++g)
    multiply_groups<rows_of_one, 1>(at_group(p, g), rows, steps);
}

/// c += a^T * b: the transpose of (steps, rows) by (steps, columns).
inline void add_transposed(const Product<float>& p, std::size_t rows, std::size_t steps,
                           std::size_t columns) {
  const std::size_t groups = columns / group;
  std::size_t g = 0;
  if constexpr (lanes == 16)
    for (; g + 2 <= groups; g += 2)
      add_transposed_groups<rows_of_two, 2>(at_group(p, g), rows, steps);
  for (; g < groups; ++g)
    add_transposed_groups<rows_of_one, 1>(at_group(p, g), rows, steps);
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
