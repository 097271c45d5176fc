/// Memory of a rank's state on its device, and its addresses by unit and bucket.
#pragma once

#include "training/state/optimizer_part.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::training {

/// Buffers of a rank, divided as the strategy says. An undivided buffer holds all units, in the
/// flat space of FlatPlan. A divided buffer holds this rank's shard; executables then
/// read gathered parameters and write fresh gradients in a window of a few buckets.
class FlatBuffers {
public:
  /// `layout` must outlive the buffers.
  FlatBuffers(Device& device, const StateLayout& layout)
      : device_{device}, layout_{layout}, part_{layout, layout.shard()} {}
  /// Call once, before all others. Errors: out_of_memory.
  Status allocate(const StateOptions& options);

  // Addresses at which executables read parameters and write gradients. Buckets share the memory of
  // a window.
  float* parameters(UnitId unit) const { return parameters_of_[static_cast<std::size_t>(unit)]; }
  float* gradients(UnitId unit) const { return gradients_of_[static_cast<std::size_t>(unit)]; }
  float* parameters(const Bucket& bucket) const { return parameters(bucket.units.first); }
  float* gradients(const Bucket& bucket) const { return gradients(bucket.units.first); }
  /// Sum of a step's passes: of a unit's gradients or, if Strategy::sums_shards(), of this rank's
  /// shard of a bucket. The other of the two is null. Both are null without
  /// StateOptions::accumulate.
  float* accumulated(UnitId unit) const;
  float* accumulated(const Bucket& bucket) const;

  /// The part that this rank's optimizer updates.
  const OptimizerPart& part() const { return part_; }
  OptimizerPart& part() { return part_; }
  /// Memory of a bucket, by its number, in an array other than the statistics: the values that
  /// executables and checkpoints read.
  BucketMemory array(std::size_t array, std::size_t bucket) const;
  // This rank's part of the flat space if parameters and gradients are divided; otherwise all.
  std::span<float> owned_parameters() const { return floats_of(parameters_); }
  std::span<float> owned_gradients() const { return floats_of(gradients_); }

  /// Memory for a whole bucket in the narrower type that is sent; null if all is sent in f32.
  std::byte* wire() const { return wire_ ? wire_->data() : nullptr; }
  /// Pinned memory for all values that this rank saves; null without StateOptions::snapshots.
  const BufferPtr& snapshot() const { return snapshot_; }

private:
  Status allocate_windows();
  void place_units();
  std::vector<float*> places(float* whole, const BufferPtr& window, std::size_t alive) const;

  Device& device_;
  const StateLayout& layout_;
  BufferPtr parameters_, gradients_, accumulated_;
  BufferPtr gathered_, fresh_; ///< windows; null if nothing is divided
  BufferPtr wire_, snapshot_;
  OptimizerPart part_;
  std::vector<float*> parameters_of_, gradients_of_; ///< by UnitId
};

} // namespace troupe::training
