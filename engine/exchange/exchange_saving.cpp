// Copies of the state, to be saved: of all of it at rank 0, or of each rank's part there.
#include "engine/exchange/exchange.hpp"

namespace troupe::engine {

using collectives::Bucket;

void Exchange::copy_state(Snapshot* snapshot) {
  await_host();
  const auto arrays = first_optimizer_array + state().saved_slots();
  for (std::size_t array = 0; array < arrays; ++array) {
    if (array == statistics_array)
      continue;
    // Backward's order: the gradients' places are gone through as it does.
    for (std::size_t number = plan().buckets.size(); number-- > 0;)
      copy_bucket(array, number, snapshot);
  }
  if (snapshot) {
    state().copy_statistics(stream());
    state().copy_loss_scale(stream(), snapshot->loss_scale);
  }
}

void Exchange::copy_bucket(std::size_t array, std::size_t number, const Snapshot* snapshot) {
  if (state().saves_part() || !state().is_divided(array)) {
    if (snapshot)
      state().copy_bucket(stream(), array, number);
    return;
  }
  if (!takes_part_in_saving())
    return;
  const auto& bucket = plan().buckets[number];
  const auto* const whole = gather_saved(array, bucket, snapshot != nullptr);
  if (snapshot)
    replica().device().copy(stream(), state().in_snapshot(array, number), whole,
                            bucket.elements * sizeof(float));
}

void Exchange::copy_own_piece(std::size_t index, StatePiece& piece) {
  await_host();
  const auto& written = state().written();
  // DataParallel's other ranks have no state of their own.
  const auto saved = written.empty() ? SavedPiece{} : written[index];
  begin_piece(index, saved, piece);
  copy_ranges(saved, piece.values.data());
}

void Exchange::gather_piece(std::size_t index, StatePiece* piece) {
  await_host();
  const auto& saved = state().saved()[index];
  if (piece)
    begin_piece(index, saved, *piece);
  float* const to = piece ? piece->values.data() : nullptr;
  if (state().is_divided(saved.array()))
    gather_ranges(index, to);
  else if (to)
    copy_ranges(saved, to);
}

void Exchange::begin_piece(std::size_t index, const SavedPiece& saved, StatePiece& piece) {
  piece.index = index;
  piece.values.resize(saved.elements);
  if (index == 0)
    state().copy_loss_scale(stream(), piece.loss_scale);
}

void Exchange::copy_ranges(const SavedPiece& saved, float* to) {
  for (const auto& range : saved.ranges) {
    state().copy_range(stream(), range, to);
    to += range.elements;
  }
}

void Exchange::gather_ranges(std::size_t index, float* to) {
  if (!takes_part_in_saving())
    return;
  const auto bucket_of = [this](const SavedPiece& one) {
    return plan().bucket_of[static_cast<std::size_t>(one.ranges.front().slot->unit)];
  };
  const auto& saved = state().saved()[index];
  const auto& bucket = plan().buckets[bucket_of(saved)];
  // Where the piece before was of the same bucket, it is there still.
  const auto* const before = index > 0 ? &state().saved()[index - 1] : nullptr;
  const float* const whole =
      before && before->array() == saved.array() && bucket_of(*before) == bucket_of(saved)
          ? state().gradients(bucket)
          : gather_saved(saved.array(), bucket, to != nullptr);
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
  if (array - first_optimizer_array >= state().optimizer_slots())
    return state().outer_momentum(bucket);
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
