#include "training/state/shard_replica.hpp"

#include "core/fail.hpp"

#include <algorithm>

namespace troupe::training {

using collectives::Bucket;

Result<ShardReplica> ShardReplica::allocate(Device& device, const collectives::FlatPlan& plan,
                                            const RateRanges& rates, const Options& options) {
  ShardReplica shard{plan, rates, options};
  TROUPE_TRY(shard.allocate(device));
  return shard;
}

Status ShardReplica::allocate(Device& device) {
  const auto take = [&](BufferPtr& buffer, std::size_t elements, MemoryKind kind) -> Status {
    if (elements > 0) {
      TROUPE_TRY(buffer, device.allocate(elements * sizeof(float), kind));
    }
    return {};
  };
  TROUPE_TRY(take(parameters_, options_.kept, MemoryKind::parameters));
  TROUPE_TRY(take(gradients_, plan_->shard_elements(), MemoryKind::gradients));
  state_.resize(options_.slots);
  for (auto& buffer : state_)
    TROUPE_TRY(take(buffer, options_.kept, MemoryKind::optimizer));
  if (!options_.offloads)
    return {};
  TROUPE_TRY(auto host,
             HostShard::allocate(device, {options_.kept, plan_->shard_elements()}, options_.slots));
  host_.emplace(std::move(host));
  return {};
}

std::size_t ShardReplica::kept_of(const Bucket& bucket) const {
  const auto first = plan_->shard_offset(bucket), end = first + plan_->shard_elements(bucket);
  return std::clamp(options_.kept, first, end) - first;
}

std::vector<OptimizerChunk> ShardReplica::kept_chunks(const float* gradients) const {
  std::vector<OptimizerChunk> chunks;
  for (const auto& bucket : plan_->buckets) {
    const auto elements = kept_of(bucket), first = plan_->shard_offset(bucket);
    if (elements == 0)
      continue;
    const auto state = [&](std::size_t slot) {
      return slot < state_.size() ? state_[slot]->floats() + first : nullptr;
    };
    const auto cut = rates_->cut({.parameters = parameters_->floats() + first,
                                  .gradients = gradients + first,
                                  .state0 = state(0),
                                  .state1 = state(1),
                                  .elements = elements},
                                 flat_place(bucket));
    chunks.insert(chunks.end(), cut.begin(), cut.end());
  }
  return chunks;
}

HostChunk ShardReplica::host_chunk(const Bucket& bucket) const {
  const auto first = plan_->shard_offset(bucket), end = first + plan_->shard_elements(bucket);
  const auto cut = first + kept_of(bucket);
  if (cut == end)
    return {};
  return {.host = host_->views({cut, end}), .gradients = gradients_->floats() + cut};
}

std::vector<OptimizerChunk> ShardReplica::host_chunks(const Bucket& bucket) const {
  return rates_->cut(host_chunk(bucket).host, flat_place(bucket) + kept_of(bucket));
}

void ShardReplica::copy(Device& device, Stream& stream, std::optional<std::size_t> slot,
                        const Bucket& bucket, std::size_t begin, std::size_t elements,
                        float* to) const {
  const auto first = plan_->shard_offset(bucket) + (begin - flat_place(bucket));
  const auto end = first + elements, cut = std::clamp(options_.kept, first, end);
  const auto& buffer = slot ? state_[*slot] : parameters_;
  if (cut > first)
    device.copy(stream, to, buffer->floats() + first, (cut - first) * sizeof(float));
  if (cut == end)
    return;
  const float* const offloaded = slot ? host_->state(*slot) : host_->parameters();
  device.copy(stream, to + (cut - first), offloaded + (cut - options_.kept),
              (end - cut) * sizeof(float));
}

} // namespace troupe::training
