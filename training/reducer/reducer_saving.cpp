// Copies of the state for saving: of all of it at rank 0, or of each rank's part.
#include "training/reducer/reducer.hpp"

namespace troupe::training {

using collectives::Bucket;

void GradientReducer::copy_state(Snapshot* snapshot) {
  await_host();
  const auto arrays = first_optimizer_array + state().saved_slots();
  for (std::size_t array = 0; array < arrays; ++array) {
    if (array == statistics_array)
      continue;
    // In the order of backward, which goes through the gradients' memory in the same order.
    for (std::size_t number = plan().buckets.size(); number-- > 0;)
      copy_bucket(array, number, snapshot);
  }
  if (snapshot) {
    state().copy_statistics(stream());
    state().copy_loss_scale(stream(), snapshot->loss_scale);
  }
}

void GradientReducer::copy_bucket(std::size_t array, std::size_t number, const Snapshot* snapshot) {
  if (state().saves_shard() || !state().is_divided(array)) {
    if (snapshot)
      state().copy_bucket(stream(), array, number);
    return;
  }
  if (!takes_part_in_saving())
    return;
  const auto& bucket = plan().buckets[number];
  const auto* const whole = gather_saved(array, bucket, snapshot != nullptr);
  if (snapshot)
    rank_state().device().copy(stream(), state().in_snapshot(array, number), whole,
                               bucket.elements * sizeof(float));
}

void GradientReducer::copy_own_chunk(std::size_t index, StateChunk& chunk) {
  await_host();
  const auto& written = state().written();
  // With DataParallel, ranks other than 0 have no state.
  const auto saved = written.empty() ? SavedChunk{} : written[index];
  begin_chunk(index, saved, chunk);
  copy_ranges(saved, chunk.values.data());
}

void GradientReducer::gather_chunk(std::size_t index, StateChunk* chunk) {
  await_host();
  const auto& saved = state().saved()[index];
  if (chunk)
    begin_chunk(index, saved, *chunk);
  float* const to = chunk ? chunk->values.data() : nullptr;
  if (state().is_divided(saved.array()))
    gather_ranges(index, to);
  else if (to)
    copy_ranges(saved, to);
}

void GradientReducer::begin_chunk(std::size_t index, const SavedChunk& saved, StateChunk& chunk) {
  chunk.index = index;
  chunk.values.resize(saved.elements);
  if (index == 0)
    state().copy_loss_scale(stream(), chunk.loss_scale);
}

void GradientReducer::copy_ranges(const SavedChunk& saved, float* to) {
  for (const auto& range : saved.ranges) {
    state().copy_range(stream(), range, to);
    to += range.elements;
  }
}

void GradientReducer::gather_ranges(std::size_t index, float* to) {
  if (!takes_part_in_saving())
    return;
  const auto bucket_of = [this](const SavedChunk& one) {
    return plan().bucket_of[static_cast<std::size_t>(one.ranges.front().slot->unit)];
  };
  const auto& saved = state().saved()[index];
  const auto& bucket = plan().buckets[bucket_of(saved)];
  // If the previous chunk was of the same bucket, the gathered bucket is still in memory.
  const auto* const before = index > 0 ? &state().saved()[index - 1] : nullptr;
  const float* const whole =
      before && before->array() == saved.array() && bucket_of(*before) == bucket_of(saved)
          ? state().gradients(bucket)
          : gather_saved(saved.array(), bucket, to != nullptr);
  for (const auto& range : saved.ranges)
    if (to) {
      rank_state().device().copy(stream(), to, whole + (state().place_of(range) - bucket.offset),
                                 range.elements * sizeof(float));
      to += range.elements;
    }
}

void GradientReducer::await_host() {
  if (host_)
    for (const auto& bucket : plan().buckets)
      host_->await(bucket);
}

/// The ranks of one copy of the state suffice.
bool GradientReducer::takes_part_in_saving() const {
  return rank_state().rank < strategy().shards;
}

/// Gathers all ranks' shards of a bucket at rank 0 (`here`), in the memory of the bucket's
/// gradients, which is free between steps.
const float* GradientReducer::gather_saved(std::size_t array, const Bucket& bucket, bool here) {
  float* const whole = state().gradients(bucket);
  rank_state().shard_group->gather(
      stream(), {const_cast<float*>(shard_of(array, bucket)), plan().shard_elements(bucket)},
      here ? whole : nullptr, 0);
  return whole;
}

const float* GradientReducer::shard_of(std::size_t array, const Bucket& bucket) {
  const auto mine = state().chunk(bucket);
  const auto offloaded = state().host_chunk(bucket).host;
  if (array == parameters_array)
    return strategy().offloads_parameters
               ? whole_chunk(bucket, mine.parameters, offloaded.parameters)
               : mine.parameters;
  if (array - first_optimizer_array >= state().optimizer_slots())
    return state().outer_momentum(bucket);
  return array == first_optimizer_array ? whole_chunk(bucket, mine.state0, offloaded.state0)
                                        : whole_chunk(bucket, mine.state1, offloaded.state1);
}

/// Returns the chunk in the device's memory, for a collective: at its address, or assembled in the
/// memory of this rank's gradients.
const float* GradientReducer::whole_chunk(const Bucket& bucket, const float* kept,
                                          const float* offloaded) {
  const auto on_host = state().host_chunk(bucket).host.elements;
  const auto here = state().kept_chunk(bucket).elements;
  if (on_host == 0)
    return kept;
  auto& device = rank_state().device();
  float* const place = const_cast<float*>(state().chunk(bucket).gradients);
  device.copy(stream(), place + here, offloaded, on_host * sizeof(float));
  if (here > 0)
    device.copy(stream(), place, kept, here * sizeof(float));
  return place;
}

} // namespace troupe::training
