#include "training/state/state_copier.hpp"

namespace troupe::training {

void StateCopier::copy(const PlannedChunk& chunk, const BucketMemory& from, float* to) const {
  for_each_range(chunk, to, [&](const StateRange& range, float* place) {
    for (const auto& some : from.at(layout().place_of(range))) {
      if (!some.empty())
        state_.device().copy(stream_, place, some.data(), some.size_bytes());
      place += some.size();
    }
  });
}

void StateCopier::copy(const PlannedChunk& chunk, float* to) const {
  copy(chunk,
       chunk.array == statistics_array ? state_.statistics().memory()
                                       : state_.buffers().array(chunk.array, chunk.bucket),
       to);
}

float* StateCopier::begin(std::size_t index, std::size_t elements, StateChunk& to) const {
  to.index = index;
  to.values.resize(elements);
  if (index == 0)
    state_.copy_loss_scale(stream_, to.loss_scale);
  return to.values.data();
}

void StateCopier::copy_written(std::size_t index, StateChunk& to) const {
  const auto& plan = layout().written();
  if (index < plan.size())
    copy(plan[index], begin(index, plan[index].elements, to));
  else
    begin(index, 0, to);
}

void StateCopier::gather(std::size_t index, StateChunk* to) const {
  const auto& plan = layout().whole();
  gather(plan[index], index > 0 ? &plan[index - 1] : nullptr,
         to ? begin(index, plan[index].elements, *to) : nullptr);
}

void StateCopier::take(Snapshot* to) const {
  const auto& plan = layout().written();
  const PlannedChunk* before = nullptr;
  for (const auto index : plan.by_bucket()) {
    const auto& chunk = plan[index];
    float* const values = to ? to->values(index) : nullptr;
    if (!layout().saves_shard())
      gather(chunk, before, values);
    else if (values)
      copy(chunk, values);
    before = &chunk;
  }
  if (to)
    state_.copy_loss_scale(stream_, to->loss_scale);
}

/// `before`: the chunk of the last call, whose bucket is still in the memory of gradients.
void StateCopier::gather(const PlannedChunk& chunk, const PlannedChunk* before, float* to) const {
  if (!layout().is_divided(chunk.array)) {
    if (to)
      copy(chunk, to);
    return;
  }
  if (layout().rank() >= layout().strategy().shards) // one copy of the state suffices
    return;
  if (!before || before->array != chunk.array || before->bucket != chunk.bucket)
    gather_bucket(chunk, to != nullptr);
  if (!to)
    return;
  const auto& bucket = layout().plan().buckets[chunk.bucket];
  copy(chunk,
       {.range = {bucket.offset, bucket.elements},
        .device = state_.buffers().gradients(bucket),
        .kept = bucket.elements},
       to);
}

/// Gathers all ranks' shards of a bucket at rank 0 (`here`), in the memory of its gradients.
void StateCopier::gather_bucket(const PlannedChunk& chunk, bool here) const {
  const auto& buffers = state_.buffers();
  const auto& bucket = layout().plan().buckets[chunk.bucket];
  const auto mine = buffers.array(chunk.array, chunk.bucket);
  float* const shard = on_device(state_.device(), stream_, mine, buffers.part().gradients(bucket));
  shard_group_->gather(stream_, {shard, mine.range.elements},
                       here ? buffers.gradients(bucket) : nullptr, 0);
}

} // namespace troupe::training
