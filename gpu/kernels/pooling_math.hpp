/// The mapping between a pooling's windows and pixels, for host and CUDA code.
#pragma once

#include "core/host_and_device.hpp"

namespace troupe::gpu {

/// A range of indices, [begin, end).
struct IndexRange {
  int begin, end;
};

/// Returns the pixels, on an axis of `length`, that output position `place` reads.
TROUPE_HOST_DEVICE inline IndexRange window_pixels(int place, int kernel, int stride, int padding,
                                                   int length) {
  const int first = place * stride - padding, last = first + kernel;
  return {first > 0 ? first : 0, last < length ? last : length};
}

/// Returns the output positions, on an axis of `outputs`, whose window contains pixel `place`.
TROUPE_HOST_DEVICE inline IndexRange covering_windows(int place, int kernel, int stride,
                                                      int padding, int outputs) {
  const int from = place + padding - kernel + 1;
  const int first = from > 0 ? (from + stride - 1) / stride : 0;
  const int last = (place + padding) / stride + 1;
  return {first, last < outputs ? last : outputs};
}

} // namespace troupe::gpu
