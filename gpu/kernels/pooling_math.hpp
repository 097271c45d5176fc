/// Which windows of a pooling cover what, for host and CUDA code.
#pragma once

#include "core/host_and_device.hpp"

namespace troupe::gpu {

/// A range of indices, [begin, end).
struct IndexRange {
  int begin, end;
};

/// The pixels of an axis of `length` that output position `place` reads.
TROUPE_HOST_DEVICE inline IndexRange window_pixels(int place, int kernel, int stride, int padding,
                                                   int length) {
  const int first = place * stride - padding, last = first + kernel;
  return {first > 0 ? first : 0, last < length ? last : length};
}

/// The output positions of an axis of `outputs` whose window has the pixel `place` in it.
TROUPE_HOST_DEVICE inline IndexRange covering_windows(int place, int kernel, int stride,
                                                      int padding, int outputs) {
  const int from = place + padding - kernel + 1;
  const int first = from > 0 ? (from + stride - 1) / stride : 0;
  const int last = (place + padding) / stride + 1;
  return {first, last < outputs ? last : outputs};
}

} // namespace troupe::gpu
