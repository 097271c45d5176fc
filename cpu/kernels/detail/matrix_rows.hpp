/// Included only by the kernel sources: matrices in the program's layout, and their memory in
/// groups (small_products.hpp).
#pragma once

#include "cpu/kernels/detail/small_products.hpp"
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

inline std::size_t whole(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// Hands out a call's scratch memory, in floats or as many pairs.
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

  /// Calls visit(values, count, row, offset) for all groups of `rows` rows: the group's `count`
  /// elements of the row, and the group's offset in packed memory. Visits all groups of a row
  /// before the next row, because rows are far apart in memory.
  template <class Visit>
  void for_groups(std::size_t rows, Visit visit) const {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t c = 0; c < columns; c += group)
        visit(first + row * distance + c, row < count ? smaller_group(columns - c) : 0, row,
              c * rows + row * group);
  }
  static std::size_t smaller_group(std::size_t n) { return n < group ? n : group; }
};

/// Writes the first `to.count` of `rows` packed rows to the matrix, each times factor(row).
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

/// Returns the distance between groups of a matrix, in elements: one cache line more than its rows
/// take. Without it, a row's groups would lie whole pages apart, all in the same cache lines.
constexpr std::size_t padded(std::size_t rows) {
  return (rows + 1) * group;
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
