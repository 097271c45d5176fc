#include "tests/emulation/cudnn/layout.hpp"

#include <algorithm>

namespace emulation::cudnn {

namespace {

/// Returns strides without gaps for axes in this order, outermost first.
Dims packed_in_order(const Dims& dims, const std::array<std::size_t, 4>& order) {
  Dims strides{};
  std::int64_t distance = 1;
  for (std::size_t i = 4; i-- > 0; distance *= dims[order[i]])
    strides[order[i]] = distance;
  return strides;
}

/// Returns the axes that are not a part of a run, in their order; `count` becomes the length of a
/// run.
std::vector<std::size_t> axes_of_runs(const Dims& dims, const Dims& strides, std::int64_t& count) {
  std::vector<std::size_t> axes;
  for (const auto axis : outermost_first(strides))
    if (dims[axis] > 1)
      axes.push_back(axis);
  count = 1;
  for (; !axes.empty() && strides[axes.back()] == count; axes.pop_back())
    count *= dims[axes.back()];
  return axes;
}

} // namespace

std::int64_t elements_of(const Dims& dims) {
  return dims[0] * dims[1] * dims[2] * dims[3];
}

Dims row_major(const Dims& dims) {
  return packed_in_order(dims, {0, 1, 2, 3});
}

Dims channels_last(const Dims& dims) {
  return packed_in_order(dims, {0, 2, 3, 1});
}

std::array<std::size_t, 4> outermost_first(const Dims& strides) {
  std::array<std::size_t, 4> axes{0, 1, 2, 3};
  std::ranges::stable_sort(axes,
                           [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  return axes;
}

Dims packed(const Dims& dims, const Dims& strides) {
  return packed_in_order(dims, outermost_first(strides));
}

bool same_places(const Dims& dims, const Dims& a, const Dims& b) {
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    if (dims[axis] > 1 && a[axis] != b[axis])
      return false;
  return true;
}

std::vector<Run> runs_of(const Dims& dims, const Dims& strides) {
  std::int64_t count = 1;
  const auto axes = axes_of_runs(dims, strides, count);
  std::vector<Run> runs{{0, count}};
  for (const auto axis : axes) {
    std::vector<Run> next;
    next.reserve(runs.size() * static_cast<std::size_t>(dims[axis]));
    for (const auto& run : runs)
      for (std::int64_t i = 0; i < dims[axis]; ++i)
        next.push_back({run.first + i * strides[axis], count});
    runs = std::move(next);
  }
  return runs;
}

bool overlaps_itself(const Dims& dims, const Dims& strides) {
  auto runs = runs_of(dims, strides);
  std::ranges::sort(runs, {}, &Run::first);
  return std::ranges::adjacent_find(runs, [](const Run& a, const Run& b) {
           return a.first + a.count > b.first;
         }) != runs.end();
}

} // namespace emulation::cudnn
