// Saving a rank's state: copies in host memory, in the device's layout.
#include "training/state/model_state.hpp"

#include <algorithm>

namespace troupe::training {

std::size_t ModelState::snapshot_elements(std::size_t parameters, std::size_t statistics,
                                          std::size_t slots) {
  return parameters * (1 + slots) + statistics;
}

std::size_t ModelState::saved_elements(const collectives::FlatPlan& plan,
                                       const collectives::Strategy& strategy, bool saves_shard) {
  return saves_shard ? SavedShard::of_rank(plan, strategy, 0).elements() : plan.elements;
}

float* ModelState::in_snapshot(std::size_t array, std::size_t bucket) const {
  const auto before = array == parameters_array ? 0 : array - statistics_array;
  return snapshot_->floats() + before * part_.elements() + part_[bucket].place;
}

float* ModelState::in_snapshot(const SavedRange& range) const {
  const auto place = place_of(range);
  if (range.array == statistics_array)
    return snapshot_->floats() + part_.elements() * (1 + optimizer_slots_.size()) + place;
  const auto bucket = bucket_of(*range.slot);
  return in_snapshot(range.array, bucket) + (place - part_[bucket].begin);
}

bool ModelState::is_divided(std::size_t array) const {
  return array == parameters_array ? strategy_.divides_parameters
                                   : array != statistics_array && strategy_.divides_optimizer;
}

std::size_t ModelState::place_of(const SavedRange& range) const {
  return range.first +
         (range.array == statistics_array ? range.slot->offset : place_of(*range.slot));
}

void ModelState::copy_range(Stream& stream, const SavedRange& range, float* to) const {
  const auto place = place_of(range);
  if (range.array == statistics_array)
    device_.copy(stream, to, statistics() + place, range.elements * sizeof(float));
  else
    copy_flat(stream, range.array, bucket_of(*range.slot), place, range.elements, to);
}

void ModelState::copy_bucket(Stream& stream, std::size_t array, std::size_t bucket) const {
  const auto& cut = part_[bucket];
  if (cut.elements > 0)
    copy_flat(stream, array, bucket, cut.begin, cut.elements, in_snapshot(array, bucket));
}

void ModelState::copy_statistics(Stream& stream) const {
  copy_statistics(stream, snapshot_->floats() + part_.elements() * (1 + optimizer_slots_.size()),
                  statistics());
}

void ModelState::copy_statistics(Stream& stream, float* to, const float* from) const {
  device_.copy(stream, to, from, layout_.statistic_elements * sizeof(float));
}

/// Copies a bucket's elements from offset `begin` of the flat space. Offloaded elements are those
/// from kept_ on.
void ModelState::copy_flat(Stream& stream, std::size_t array, std::size_t number, std::size_t begin,
                           std::size_t elements, float* to) const {
  const auto& bucket = plan_.buckets[number];
  const auto first = is_divided(array) ? plan_.shard_offset(bucket) + begin -
                                             (bucket.offset + shard_ * plan_.shard_elements(bucket))
                                       : begin;
  const bool parameters = array == parameters_array;
  const auto end = first + elements;
  const auto cut =
      host_ && (!parameters || strategy_.offloads_parameters) ? std::clamp(kept_, first, end) : end;
  const auto& buffer = parameters ? parameters_ : optimizer_[array - first_optimizer_array];
  if (cut > first)
    device_.copy(stream, to, buffer->floats() + first, (cut - first) * sizeof(float));
  if (cut == end)
    return;
  const float* const offloaded =
      parameters ? host_->parameters() : host_->state(array - first_optimizer_array);
  device_.copy(stream, to + (cut - first), offloaded + (cut - kept_), (end - cut) * sizeof(float));
}

void ModelState::copy_loss_scale(Stream& stream, std::optional<LossScaleState>& to) const {
  if (scaler_)
    device_.copy(stream, &to.emplace(), loss_scale(), sizeof(LossScaleState));
}

CheckpointHeader ModelState::describe(const std::optional<LossScaleState>& loss_scale) const {
  CheckpointHeader header{.metadata = {}, .tensors = saved_entries(saved_, optimizer_slots_)};
  if (loss_scale)
    header.metadata[loss_scale_key] = to_string(*loss_scale);
  return header;
}

std::vector<TensorPart> ModelState::describe_shard() const {
  return describe_chunks(saved_shard_);
}

std::vector<TensorPart> ModelState::describe_chunks(std::span<const SavedChunk> chunks) const {
  return saved_shards(chunks, optimizer_slots_);
}

} // namespace troupe::training
