/// Included by the kernel sources alone: what attention in every type works on.
#pragma once

#include "exponential.hpp"
#include "small_products.hpp"
#include "variant.hpp"

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

/// Rows of a head, `distance` elements from one to the next.
template <class T>
struct HeadRows {
  T* first;
  std::size_t distance, count, columns;

  /// Calls visit(row's elements from c on, how many) for each group of columns, and all its rows.
  template <class Visit>
  void for_groups(std::size_t rows, Visit visit) const {
    for (std::size_t c = 0; c < columns; c += group)
      for (std::size_t row = 0; row < rows; ++row)
        visit(first + row * distance + c, row < count ? smaller_group(columns - c) : 0, row);
  }
  static std::size_t smaller_group(std::size_t n) { return n < group ? n : group; }
};

/// Writes the rows of a matrix of `rows` in groups, each times factor(row).
template <class T, class Factor>
void unpack(const float* from, std::size_t rows, const HeadRows<T>& to, Factor factor) {
  to.for_groups(rows, [&](T* values, std::size_t there, std::size_t row) {
    const float times = there > 0 ? factor(row) : 0.0f;
    if (there == group)
      for (std::size_t j = 0; j < group; ++j)
        store(values, j, times * from[j]);
    else
      for (std::size_t j = 0; j < there; ++j)
        store(values, j, times * from[j]);
    from += group;
  });
}

/// From one group of a matrix to the next, in elements: a line of a cache more than its rows take.
/// Without it a row's groups lay whole pages apart, all in the same lines.
constexpr std::size_t padded(std::size_t rows) {
  return (rows + 1) * group;
}

/// A row of scores in groups, which are `distance` apart.
struct Scores {
  float* first;
  std::size_t distance, keys;

  template <class Change>
  void for_each(Change change) const {
    for (std::size_t key = 0; key < keys; key += group) {
      float* const values = first + key / group * distance;
      for (std::size_t j = 0; j < group; ++j)
        values[j] = change(values[j], j);
    }
  }
  /// What is not attended to gets a value that no exponential is left of.
  void hide_from(std::size_t key) const {
    for (; key < keys; ++key)
      first[key / group * distance + key % group] = -1e30f;
  }
  /// Makes e^(scale * score - most) of each, `most` being the largest scale * score.
  ExponentialSum exponentiate(float scale) const {
    float sums[group] = {};
    ExponentialSum result{largest(), 0};
    for_each([&](float score, std::size_t j) {
      const float e = exponential(scale * (score - result.most));
      sums[j] += e;
      return e;
    });
    for (const float value : sums)
      result.sum += value;
    result.most *= scale;
    return result;
  }

private:
  float largest() const {
    float most[group];
    for (float& value : most)
      value = -1e30f;
    for (std::size_t key = 0; key < keys; key += group) {
      const float* const values = first + key / group * distance;
      for (std::size_t j = 0; j < group; ++j)
        most[j] = values[j] > most[j] ? values[j] : most[j];
    }
    for (const float value : most)
      most[0] = value > most[0] ? value : most[0];
    return most[0];
  }
};

/// The sum of the products of two rows of a head.
template <class A, class B>
float row_product(const A* a, const B* b, std::size_t columns) {
  float sums[group] = {}, sum = 0;
  std::size_t c = 0;
  for (; c + group <= columns; c += group)
    for (std::size_t j = 0; j < group; ++j)
      sums[j] += load(a, c + j) * load(b, c + j);
  for (; c < columns; ++c)
    sum += load(a, c) * load(b, c);
  for (const float value : sums)
    sum += value;
  return sum;
}

/// Each gradient of a probability becomes p * (gradient - mean), the gradient of its score.
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
  HeadRows<T> of(T* head, std::size_t distance, std::size_t columns) const {
    return {head + first * distance, distance, rows, columns};
  }
};

inline float score_scale(const AttentionShape& s) {
  return 1.0f / __builtin_sqrtf(static_cast<float>(s.head_dim));
}

} // namespace

} // namespace troupe::cpu::TROUPE_VARIANT
