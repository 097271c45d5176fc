/// The state of a rank that lies in the host's pinned memory (parallel.offload).
#pragma once

#include "core/device/device.hpp"

#include <cstddef>

namespace troupe::training {

/// Elements of a bucket that the host's optimizer works on, and where the device has them.
struct HostChunk {
  OptimizerViews host = {};         ///< in pinned memory; may have no elements
  const float* gradients = nullptr; ///< on the device, summed over ranks
  float* parameters = nullptr;      ///< on the device; null where they are offloaded too
};

/// Of the elements [first, end) of a rank's part of the flat space: parameters, gradients on their
/// way to the optimizer, and the optimizer's state, each contiguous and in fp32. Beside them lies
/// what the device knows and the host's optimizer needs: the factor of clipping, votes, the loss
/// scale.
class HostShard {
public:
  struct Range {
    std::size_t first = 0, end = 0;
    std::size_t elements() const { return end - first; }
  };

  /// Zeroed. Errors: out_of_memory.
  static Result<HostShard> allocate(Device& device, const Range& range, std::size_t slots);
  /// What allocate() takes.
  static std::size_t bytes(std::size_t elements, std::size_t slots);

  const Range& range() const { return range_; }
  float* parameters() const { return array(0); }
  float* gradients() const { return array(1); }
  /// One of the optimizer's values for each parameter.
  float* state(std::size_t slot) const { return array(2 + slot); }
  /// Views of elements that lie here.
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
