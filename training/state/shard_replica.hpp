/// A copy of the shard of another rank, which is made by replay: it is sent that rank's reduced
/// gradients, and the same optimizer is applied to them, behind the same vote.
#pragma once

#include "collectives/flat_plan.hpp"
#include "training/state/host_shard.hpp"
#include "training/state/rate_ranges.hpp"

#include <optional>
#include <vector>

namespace troupe::training {

/// Lies as its owner's shard does: elements below `kept` on the device, the others in the host's
/// memory. Its parameters are its own also where each rank has all of them: what publishes those
/// may be cut off in the middle.
class ShardReplica {
public:
  struct Options {
    std::size_t shard = 0; ///< whose
    std::size_t kept = 0;
    std::size_t slots = 0; ///< values of the optimizer for each parameter
    bool offloads = false;
  };

  /// The plan and the ranges have to outlive it.
  static Result<ShardReplica> allocate(Device& device, const collectives::FlatPlan& plan,
                                       const RateRanges& rates, const Options& options);

  std::size_t shard() const { return options_.shard; }
  std::size_t kept() const { return options_.kept; }
  const HostShard* host() const { return host_ ? &*host_ : nullptr; }
  /// Null where the host has all of it.
  const BufferPtr& parameters() const { return parameters_; }
  const BufferPtr& state(std::size_t slot) const { return state_[slot]; }
  /// Where those of a bucket come in.
  float* gradients(const collectives::Bucket& bucket) const {
    return gradients_->floats() + plan_->shard_offset(bucket);
  }
  float* gradients() const { return gradients_->floats(); }

  /// What the device's optimizer works on, and what the host's does, with gradients that lie as
  /// gradients() do.
  std::vector<OptimizerChunk> kept_chunks(const float* gradients) const;
  HostChunk host_chunk(const collectives::Bucket& bucket) const;
  std::vector<OptimizerChunk> host_chunks(const collectives::Bucket& bucket) const;

  /// Enqueues a copy to the host's memory of elements of a bucket, from `begin` on in the flat
  /// space; `slot`: of the optimizer, or none: parameters.
  void copy(Device& device, Stream& stream, std::optional<std::size_t> slot,
            const collectives::Bucket& bucket, std::size_t begin, std::size_t elements,
            float* to) const;

private:
  ShardReplica(const collectives::FlatPlan& plan, const RateRanges& rates, const Options& options)
      : plan_{&plan}, rates_{&rates}, options_{options} {}
  Status allocate(Device& device);
  /// Where it begins in the flat space.
  std::size_t flat_place(const collectives::Bucket& bucket) const {
    return bucket.offset + options_.shard * plan_->shard_elements(bucket);
  }
  /// How many of a bucket's lie on the device.
  std::size_t kept_of(const collectives::Bucket& bucket) const;

  const collectives::FlatPlan* plan_;
  const RateRanges* rates_;
  Options options_;
  BufferPtr parameters_, gradients_;
  std::vector<BufferPtr> state_;
  std::optional<HostShard> host_;
};

} // namespace troupe::training
