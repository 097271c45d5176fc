/// Included only by the kernel sources: data of attention kernels of every type.
#pragma once

#include "cpu/kernels/detail/exponential.hpp"
#include "cpu/kernels/detail/matrix_rows.hpp"
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

/// A row of scores in groups that are `distance` apart.
struct Scores {
  float* first;
  std::size_t distance, keys;

  template <class Change>
  void for_each(Change change) const {
    for (std::size_t key = 0; key < keys; key += group) {
      float* const values = first + key / group * distance;
      for (std::size_t j = 0; j < group; ++j)
        values[j] = change(values[j]);
    }
  }
  /// Returns the first `count` scores (at least one), in whole groups. Other scores of the last
  /// group get a value whose exponential is 0; later groups become 0.
  Scores attended(std::size_t count) const {
    const std::size_t end = whole(count, group), there = count + group - end;
    float* const last = first + (end / group - 1) * distance;
    for (std::size_t j = 0; j < group; ++j)
      last[j] = j < there ? last[j] : -1e30f;
    for (std::size_t key = end; key < keys; key += group)
      for (std::size_t j = 0; j < group; ++j)
        first[key / group * distance + j] = 0.0f;
    return {first, distance, end};
  }
  float largest() const { return folded(joined(Vector{} - 1e30f, larger_of), larger_of); }
  /// Replaces each score by e^(score - most), where `most` is the largest score.
  ExponentialSum exponentiate() const {
    const float most = largest();
    for_each([&](float score) { return exponential(score - most); });
    return {most, folded(joined(Vector{}, sum_of), sum_of)};
  }

private:
  /// Folds all values into one register with join(), which combines two registers.
  template <class Join>
  Vector joined(Vector from, Join join) const {
    for (std::size_t key = 0; key < keys; key += group)
      for (std::size_t j = 0; j < group; j += lanes)
        from = join(from, load_vector(first + key / group * distance + j));
    return from;
  }
};

/// Returns the sum of the products of two rows of a head.
template <class A, class B>
float row_product(const A* a, const B* b, std::size_t columns) {
  Vector sums{};
  std::size_t c = 0;
  for (; c + lanes <= columns; c += lanes)
    sums += load_lanes(a + c) * load_lanes(b + c);
  float sum = folded(sums, sum_of);
  for (; c < columns; ++c)
    sum += load(a, c) * load(b, c);
  return sum;
}

/// Replaces each gradient of a probability by p * (gradient - mean), the gradient of its score.
inline void multiply_differences(const Scores& gradients, const Scores& p, float mean) {
  for (std::size_t g = 0; g < gradients.keys / group; ++g) {
    float* const gradient = gradients.first + g * gradients.distance;
    const float* const probability = p.first + g * p.distance;
    for (std::size_t j = 0; j < group; ++j)
      gradient[j] = probability[j] * (gradient[j] - mean);
  }
}

/// Queries of a tile, and the keys that any of them attends to, in whole units.
struct Tile {
  std::size_t first, rows, keys;

  Tile(const AttentionShape& s, std::size_t query, std::size_t most, std::size_t unit)
      : first{query}, rows{s.sequence - query < most ? s.sequence - query : most},
        keys{whole(s.first + query + rows, unit)} {}
  template <class T>
  MatrixRows<T> of(T* head, std::size_t distance, std::size_t columns) const {
    return {head + first * distance, distance, rows, columns};
  }
};

inline float score_scale(const AttentionShape& s) {
  return 1.0f / __builtin_sqrtf(static_cast<float>(s.head_dim));
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
