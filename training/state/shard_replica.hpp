/// A replica of another rank's shard. It is kept up to date by replay: the rank receives
/// the shard's reduced gradients and applies the same optimizer to them, after the same vote.
#pragma once

#include "collectives/flat_plan.hpp"
#include "training/state/host_shard.hpp"
#include "training/state/rate_ranges.hpp"

#include <optional>
#include <vector>

namespace troupe::training {

/// A replica has the layout of its owner's shard: elements below `kept` are on the device, the
/// others in the host's memory. It has its own parameters even if each rank has all of them,
/// because publishing those may be interrupted.
class ShardReplica {
public:
  struct Options {
    std::size_t shard = 0; ///< index of the shard
    std::size_t kept = 0;
    std::size_t slots = 0; ///< optimizer values for each parameter
    bool offloads = false;
  };

  /// The plan and the rates must outlive the replica.
  static Result<ShardReplica> allocate(Device& device, const collectives::FlatPlan& plan,
                                       const RateRanges& rates, const Options& options);

  std::size_t shard() const { return options_.shard; }
  std::size_t kept() const { return options_.kept; }
  const HostShard* host() const { return host_ ? &*host_ : nullptr; }
  /// Null if all of the shard is in the host's memory.
  const BufferPtr& parameters() const { return parameters_; }
  const BufferPtr& state(std::size_t slot) const { return state_[slot]; }
  /// Receive buffer of a bucket's gradients.
  float* gradients(const collectives::Bucket& bucket) const {
    return gradients_->floats() + plan_->shard_offset(bucket);
  }
  float* gradients() const { return gradients_->floats(); }

  /// The elements that the device's optimizer updates, and those that the host's does. `gradients`:
  /// in the layout of gradients().
  std::vector<OptimizerChunk> kept_chunks(const float* gradients) const;
  HostChunk host_chunk(const collectives::Bucket& bucket) const;
  std::vector<OptimizerChunk> host_chunks(const collectives::Bucket& bucket) const;

  /// Enqueues a copy to the host's memory of a bucket's elements, from offset `begin` of the flat
  /// space. `slot`: an optimizer slot; none: parameters.
  void copy(Device& device, Stream& stream, std::optional<std::size_t> slot,
            const collectives::Bucket& bucket, std::size_t begin, std::size_t elements,
            float* to) const;

private:
  ShardReplica(const collectives::FlatPlan& plan, const RateRanges& rates, const Options& options)
      : plan_{&plan}, rates_{&rates}, options_{options} {}
  Status allocate(Device& device);
  /// Offset in the flat space of the shard's part of a bucket.
  std::size_t flat_place(const collectives::Bucket& bucket) const {
    return bucket.offset + options_.shard * plan_->shard_elements(bucket);
  }
  /// Number of a bucket's elements on the device.
  std::size_t kept_of(const collectives::Bucket& bucket) const;

  const collectives::FlatPlan* plan_;
  const RateRanges* rates_;
  Options options_;
  BufferPtr parameters_, gradients_;
  std::vector<BufferPtr> state_;
  std::optional<HostShard> host_;
};

} // namespace troupe::training
