/// A rank's state in the host's pinned memory (parallel.offload).
#pragma once

#include "core/device/device.hpp"

#include <cstddef>

namespace troupe::training {

/// Elements of a bucket that the host's optimizer updates, and their addresses on the device.
struct HostChunk {
  OptimizerViews host = {};         ///< in pinned memory; may have no elements
  const float* gradients = nullptr; ///< on the device, summed over ranks
  float* parameters = nullptr;      ///< on the device; null if they are offloaded too
};

/// Elements [first, end) of a rank's part of the flat space: parameters, gradients before the
/// optimizer reads them, and the optimizer's state. Each array is contiguous and in fp32. Also has
/// the host optimizer's copies of device scalars: the clipping factor, the votes and the loss
/// scale.
class HostShard {
public:
  struct Range {
    std::size_t first = 0, end = 0;
    std::size_t elements() const { return end - first; }
  };

  /// Allocates zeroed memory. Errors: out_of_memory.
  static Result<HostShard> allocate(Device& device, const Range& range, std::size_t slots);
  /// Returns the bytes that allocate() takes.
  static std::size_t bytes(std::size_t elements, std::size_t slots);

  const Range& range() const { return range_; }
  float* parameters() const { return array(0); }
  float* gradients() const { return array(1); }
  /// One state value for each parameter.
  float* state(std::size_t slot) const { return array(2 + slot); }
  /// Returns views of elements in this shard.
  OptimizerViews views(const Range& range) const;

  float* clip_factor() const { return buffer_->floats(); }
  float* votes() const { return clip_factor() + 1; }
  LossScaleState* loss_scale() const;

private:
  HostShard(BufferPtr buffer, const Range& range, std::size_t slots)
      : buffer_{std::move(buffer)}, range_{range}, slots_{slots} {}
  float* array(std::size_t index) const;

  BufferPtr buffer_;
  Range range_;
  std::size_t slots_;
};

} // namespace troupe::training
