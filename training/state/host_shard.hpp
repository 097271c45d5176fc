/// A rank's state in the host's pinned memory (parallel.offload).
#pragma once

#include "core/device/device.hpp"
#include "training/state/flat_range.hpp"

#include <cstddef>

namespace troupe::training {

/// Elements of a bucket that the host's optimizer updates, and their addresses on the device.
struct HostChunk {
  OptimizerViews host = {};         ///< in pinned memory; may have no elements
  float* fetched = nullptr;         ///< host.gradients, to which they are copied
  const float* gradients = nullptr; ///< on the device, summed over ranks
  float* parameters = nullptr;      ///< on the device; null if they are offloaded too
};

/// A range of a rank's part of the flat space: parameters, gradients before the optimizer reads
/// them, and the optimizer's state. Each array is contiguous and in fp32.
class HostShard {
public:
  /// The host optimizer's copies of device scalars.
  struct Scalars {
    float clip_factor, votes;
    alignas(64) LossScaleState loss_scale;
  };

  /// Allocates zeroed memory. Errors: out_of_memory.
  static Result<HostShard> allocate(Device& device, const FlatRange& range, std::size_t slots);
  /// Returns the bytes that allocate() takes.
  static std::size_t bytes(std::size_t elements, std::size_t slots);

  /// Returns the address of an element of the rank's part in an array (state_plan.hpp).
  float* at(std::size_t array, std::size_t element) const;
  /// Returns views of elements in this shard.
  HostChunk chunk(const FlatRange& range) const;
  Scalars& scalars() const { return *reinterpret_cast<Scalars*>(buffer_->data()); }

private:
  HostShard(BufferPtr buffer, const FlatRange& range, std::size_t slots)
      : buffer_{std::move(buffer)}, range_{range}, slots_{slots} {}
  float* in_array(std::size_t index, std::size_t element) const;

  BufferPtr buffer_;
  FlatRange range_;
  std::size_t slots_;
};

} // namespace troupe::training
