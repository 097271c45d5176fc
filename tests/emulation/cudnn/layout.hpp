/// Places of a tensor's elements in memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace emulation::cudnn {

/// Batch, channel, height, width of images; batch, head, row, column of matrices.
using Dims = std::array<std::int64_t, 4>;

std::int64_t elements_of(const Dims& dims);
Dims row_major(const Dims& dims);
Dims channels_last(const Dims& dims);
/// Returns the axes in the order of memory, outermost first.
std::array<std::size_t, 4> outermost_first(const Dims& strides);
/// Returns strides without gaps, in the order of `strides`.
Dims packed(const Dims& dims, const Dims& strides);
/// Whether two strides give every element the same place; those of an axis of size 1 have no
/// effect.
bool same_places(const Dims& dims, const Dims& a, const Dims& b);

/// Elements that lie side by side.
struct Run {
  std::int64_t first, count;
};
/// Returns the runs that make up a tensor, in the order of packed() strides.
std::vector<Run> runs_of(const Dims& dims, const Dims& strides);
/// Whether two elements have the same place.
bool overlaps_itself(const Dims& dims, const Dims& strides);

} // namespace emulation::cudnn
