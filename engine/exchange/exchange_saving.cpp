// Copies of the state at rank 0, to be saved.
#include "exchange.hpp"

namespace troupe::engine {

using collectives::Bucket;

void Exchange::copy_state(Snapshot* snapshot) {
  await_host();
  const auto arrays = first_optimizer_array + state().saved_slots();
  for (std::size_t array = 0; array < arrays; ++array) {
    if (!state().is_divided(array)) {
      if (snapshot)
        state().copy_array(stream(), array);
      continue;
    }
    if (!takes_part_in_saving())
      continue;
    for (auto bucket = plan().buckets.rbegin(); bucket != plan().buckets.rend(); ++bucket) {
      const auto* const whole = gather_saved(array, *bucket, snapshot != nullptr);
      if (snapshot)
        replica().device().copy(stream(), state().snapshot(array) + bucket->offset, whole,
                                bucket->elements * sizeof(float));
    }
  }
  if (snapshot)
    state().copy_loss_scale(stream(), snapshot->loss_scale);
}

void Exchange::copy_piece(std::size_t index, StatePiece* piece) {
  await_host();
  const auto& saved = state().saved()[index];
  const auto bucket_of = [this](const SavedPiece& one) {
    return plan().bucket_of[static_cast<std::size_t>(one.ranges.front().slot->unit)];
  };
  if (piece) {
    piece->values.resize(saved.elements);
    if (index == 0)
      state().copy_loss_scale(stream(), piece->loss_scale);
  }
  float* to = piece ? piece->values.data() : nullptr;
  if (!state().is_divided(saved.array())) {
    for (const auto& range : saved.ranges)
      if (to) {
        state().copy_range(stream(), range, to);
        to += range.elements;
      }
    return;
  }
  if (!takes_part_in_saving())
    return;
  const auto& bucket = plan().buckets[bucket_of(saved)];
  // Where the piece before was of the same bucket, it is there still.
  const auto* const before = index > 0 ? &state().saved()[index - 1] : nullptr;
  const float* const whole =
      before && before->array() == saved.array() && bucket_of(*before) == bucket_of(saved)
          ? state().gradients(bucket)
          : gather_saved(saved.array(), bucket, piece != nullptr);
  for (const auto& range : saved.ranges)
    if (to) {
      replica().device().copy(stream(), to, whole + (state().place_of(range) - bucket.offset),
                              range.elements * sizeof(float));
      to += range.elements;
    }
}

void Exchange::await_host() {
  if (host_)
    for (const auto& bucket : plan().buckets)
      host_->await(bucket);
}

/// The first replica is enough.
bool Exchange::takes_part_in_saving() const {
  return replica().rank < strategy().shards;
}

/// All ranks' shards of a bucket, at rank 0 (`here`): in the place of the bucket's gradients, which
/// nobody needs between steps.
const float* Exchange::gather_saved(std::size_t array, const Bucket& bucket, bool here) {
  float* const whole = state().gradients(bucket);
  replica().shard_group->gather(
      stream(), {const_cast<float*>(shard_of(array, bucket)), plan().shard_elements(bucket)},
      here ? whole : nullptr, 0);
  return whole;
}

const float* Exchange::shard_of(std::size_t array, const Bucket& bucket) {
  const auto mine = state().piece(bucket);
  const auto offloaded = state().host_piece(bucket).host;
  if (array == parameters_array)
    return strategy().offloads_parameters
               ? whole_piece(bucket, mine.parameters, offloaded.parameters)
               : mine.parameters;
  return array == first_optimizer_array ? whole_piece(bucket, mine.state0, offloaded.state0)
                                        : whole_piece(bucket, mine.state1, offloaded.state1);
}

/// In the device's memory, for a collective: where it is, or put together in the place of this
/// rank's gradients.
const float* Exchange::whole_piece(const Bucket& bucket, const float* kept,
                                   const float* offloaded) {
  const auto on_host = state().host_piece(bucket).host.elements;
  const auto here = state().kept_piece(bucket).elements;
  if (on_host == 0)
    return kept;
  auto& device = replica().device();
  float* const place = const_cast<float*>(state().piece(bucket).gradients);
  device.copy(stream(), place + here, offloaded, on_host * sizeof(float));
  if (here > 0)
    device.copy(stream(), place, kept, here * sizeof(float));
  return place;
}

} // namespace troupe::engine
