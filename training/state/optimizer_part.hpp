/// The part of a state that an optimizer updates: a rank's own, or a replica of another rank's
/// shard. A replica is kept up to date by replay: the rank receives the shard's reduced
/// gradients and applies the same optimizer to them, after the same vote. It has its own parameters
/// even if each rank has all of them, because publishing those may be interrupted.
#pragma once

#include "training/state/bucket_memory.hpp"
#include "training/state/host_shard.hpp"
#include "training/state/state_layout.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace troupe::training {

/// Allocates `elements` of fp32, at least one, so that a buffer always has an address.
Status allocate_floats(Device& device, BufferPtr& buffer, std::size_t elements, MemoryKind kind);
/// Returns no values if there is no buffer.
std::span<float> floats_of(const BufferPtr& buffer);

/// Gradients are always on the device; offloaded state and parameters are not.
class OptimizerPart {
public:
  /// An array on the device: a whole flat space, or the parts of all buckets (StateLayout::part).
  struct Array {
    std::span<float> values = {}; ///< without offloaded values
    bool is_flat = false;
  };

  /// `layout` must outlive the part.
  OptimizerPart(const StateLayout& layout, std::size_t shard) : layout_{&layout}, shard_{shard} {}
  /// Allocates the optimizer's state for parameters and gradients that others own, or for a replica
  /// with its own. Errors: out_of_memory.
  Status allocate(Device& device, const Array& parameters, const Array& gradients);
  Status allocate_replica(Device& device);

  std::size_t shard() const { return shard_; }
  /// Memory of a bucket, by its number, in an array other than the statistics: the values that the
  /// optimizer wrote last, whether published or not. Only slots below slots().
  BucketMemory memory(std::size_t array, std::size_t bucket) const;
  float* parameters(const Bucket& bucket) const { return at(parameters_, bucket); }
  float* gradients(const Bucket& bucket) const { return at(gradients_, bucket); }
  /// The array that has the gradients of all buckets.
  std::span<float> gradients() const { return gradients_.values; }

  /// Number of optimizer values for each parameter that are held here.
  std::size_t slots() const { return slots_.size(); }
  /// A slot's values on the device; none if all are offloaded.
  std::span<float> slot(std::size_t number) const;
  /// The inner optimizer's slots that are not offloaded.
  std::vector<std::span<float>> inner_slots() const;
  /// The outer optimizer's momentum of a bucket; null if it has none.
  float* outer_momentum(const Bucket& bucket) const;
  /// Null unless the strategy offloads.
  const HostShard* host() const { return host_ ? &*host_ : nullptr; }

  /// Makes the optimizer also write these copies of parameters; chunks refer to them from now on.
  /// No effect (writes_copies() stays false) unless it updates all parameters on the device.
  void write(const ParameterCopies& copies);
  bool writes_copies() const { return copies_.data != nullptr; }

  // Addresses of a bucket are null if all of it is offloaded.

  /// All elements of a bucket; those that the device's optimizer updates; those that the host's
  /// does.
  OptimizerViews chunk(const Bucket& bucket) const;
  OptimizerViews kept_chunk(const Bucket& bucket) const;
  HostChunk host_chunk(const Bucket& bucket) const;
  /// The trained elements of kept_chunk() and host_chunk(), divided where the learning rate's
  /// factor changes. `gradients`: others to read.
  std::vector<OptimizerChunk> kept_chunks(const Bucket& bucket, const float* gradients) const;
  std::vector<OptimizerChunk> kept_chunks(const Bucket& bucket) const {
    return kept_chunks(bucket, gradients(bucket));
  }
  std::vector<OptimizerChunk> host_chunks(const Bucket& bucket) const;
  /// Trained elements of all buckets, in as few views as possible: adjacent ones are joined.
  std::vector<OptimizerChunk> chunks() const { return in_few_views(&OptimizerPart::chunk); }
  std::vector<OptimizerChunk> kept_chunks() const {
    return in_few_views(&OptimizerPart::kept_chunk);
  }

private:
  bool is_replica() const { return own_gradients_ != nullptr; }
  FlatRange range(const Bucket& bucket) const { return layout_->part(bucket, shard_); }
  float* at(const Array& array, const Bucket& bucket) const;
  float* in_slot(std::size_t number, const Bucket& bucket) const;
  std::vector<OptimizerChunk> in_few_views(OptimizerViews (OptimizerPart::*of)(const Bucket&)
                                               const) const;

  const StateLayout* layout_;
  std::size_t shard_;
  Array parameters_, gradients_;
  BufferPtr own_parameters_, own_gradients_; ///< of a replica
  std::vector<BufferPtr> slots_;             ///< null if all is offloaded
  std::optional<HostShard> host_;
  ParameterCopies copies_; ///< in the flat space
};

} // namespace troupe::training
