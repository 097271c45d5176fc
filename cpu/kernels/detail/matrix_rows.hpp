/// Included by the kernel sources alone: matrices as the rest of the program has them, and the
/// memory where they are in groups (small_products.hpp).
#pragma once

#include "cpu/kernels/detail/small_products.hpp"
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

inline std::size_t whole(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// The place where a call's memory is handed out, in floats or as many pairs.
class Memory {
public:
  explicit Memory(float* first) : next_{first} {}

  float* floats(std::size_t count) { return next_ += count, next_ - count; }
  Pair* pairs(std::size_t count) { return reinterpret_cast<Pair*>(floats(count)); }

private:
  float* next_;
};

/// Rows of a matrix, `distance` elements from one to the next.
template <class T>
struct MatrixRows {
  T* first;
  std::size_t distance, count, columns;

  /// Calls visit(a row's elements from a group on, how many, the row, where the group lies) for all
  /// groups of `rows` rows. Rows are far from each other: what is near is visited first.
  template <class Visit>
  void for_groups(std::size_t rows, Visit visit) const {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t c = 0; c < columns; c += group)
        visit(first + row * distance + c, row < count ? smaller_group(columns - c) : 0, row,
              c * rows + row * group);
  }
  static std::size_t smaller_group(std::size_t n) { return n < group ? n : group; }
};

/// Writes the rows of a matrix of `rows` in groups, each times factor(row).
template <class T, class Factor>
void unpack(const float* from, std::size_t rows, const MatrixRows<T>& to, Factor factor) {
  to.for_groups(rows, [&](T* values, std::size_t there, std::size_t row, std::size_t at) {
    const float times = there > 0 ? factor(row) : 0.0f;
    if (there == group)
      for (std::size_t j = 0; j < group; j += lanes)
        store_lanes(values + j, times * load_vector(from + at + j));
    else
      for (std::size_t j = 0; j < there; ++j)
        store(values, j, times * from[at + j]);
  });
}

/// From one group of a matrix to the next, in elements: a line of a cache more than its rows take.
/// Without it a row's groups lay whole pages apart, all in the same lines.
constexpr std::size_t padded(std::size_t rows) {
  return (rows + 1) * group;
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
