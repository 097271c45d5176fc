// State that a rank keeps for recovery: a replica of another rank's shard, and the inputs of a
// prepared step.
#include "core/fail.hpp"
#include "training/state/model_state.hpp"

#include <algorithm>

namespace troupe::training {

using collectives::Bucket;

Status ModelState::allocate_for_recovery(const Options& options) {
  if (options.replica_rank_of) {
    TROUPE_TRY(auto shard_replica,
               ShardReplica::allocate(
                   device_, plan_, rates_,
                   {.shard = static_cast<std::size_t>(strategy_.shard_of(*options.replica_rank_of)),
                    .kept = kept_,
                    .slots = optimizer_slots_.size(),
                    .offloads = strategy_.offloads()}));
    shard_replica_.emplace(std::move(shard_replica));
  }
  prepares_ = options.prepares;
  if (!prepares_ || device_.info().on_host)
    return {};
  const auto bytes = plan_.shard_elements() * sizeof(float);
  TROUPE_TRY(prepared_.gradients, device_.allocate(bytes, MemoryKind::gradients));
  if (shard_replica_) {
    TROUPE_TRY(prepared_.replicated, device_.allocate(bytes, MemoryKind::gradients));
  }
  TROUPE_TRY(prepared_.findings,
             device_.allocate(Prepared::findings_elements * sizeof(float), MemoryKind::workspace));
  return {};
}

Status ModelState::allocate_base() {
  auto& base = base_.emplace();
  TROUPE_TRY(base.add(device_, parameters_->data(), parameters_->bytes(), MemoryKind::parameters));
  TROUPE_TRY(base.add(device_, statistics(), layout_.statistic_elements * sizeof(float),
                      MemoryKind::parameters));
  for (const auto& slot : optimizer_)
    TROUPE_TRY(base.add(device_, slot->data(), slot->bytes(), MemoryKind::optimizer));
  if (scaler_)
    TROUPE_TRY(base.add(device_, scaler_->data(), sizeof(LossScaleState), MemoryKind::optimizer));
  return base.add(device_, steps(), sizeof *steps(), MemoryKind::workspace);
}

std::vector<std::span<float>> ModelState::optimizer_arrays() const {
  std::vector<std::span<float>> arrays;
  for (std::size_t slot = 0; slot < std::min(inner_slots_, optimizer_.size()); ++slot)
    if (optimizer_[slot])
      arrays.emplace_back(optimizer_[slot]->floats(), kept_);
  return arrays;
}

void ModelState::keep_base(Stream& stream) const {
  if (base_)
    base_->keep(device_, stream);
}

void ModelState::return_to_base(Stream& stream) const {
  if (base_)
    base_->restore(device_, stream);
}

void ModelState::prepare(Stream& stream) const {
  if (prepared_.gradients) {
    for (const auto& bucket : plan_.buckets)
      device_.keep(stream, prepared_.gradients->floats() + plan_.shard_offset(bucket),
                   chunk(bucket).gradients, plan_.shard_elements(bucket) * sizeof(float));
    if (shard_replica_)
      device_.keep(stream, prepared_.replicated->data(), shard_replica_->gradients(),
                   prepared_.replicated->bytes());
    device_.keep(stream, prepared_.clip_factor(), clip_factor(), sizeof(float));
    if (scaler_)
      device_.keep(stream, prepared_.loss_scale(), loss_scale(), sizeof(LossScaleState));
  }
  device_.count_update(stream, prepared_steps());
}

const float* ModelState::prepared_gradients(const Bucket& bucket) const {
  return prepared_.gradients ? prepared_.gradients->floats() + plan_.shard_offset(bucket)
                             : chunk(bucket).gradients;
}

std::vector<OptimizerChunk> ModelState::prepared_chunks(const Bucket& bucket) const {
  auto views = kept_chunk(bucket);
  views.gradients = prepared_gradients(bucket);
  return rates_.cut(views, flat_place(bucket));
}

Status ModelState::load_replica(Stream& stream, const StateSource& source) {
  const auto* const host = shard_replica_->host();
  const auto load = [&](std::string_view state, const BufferPtr& device, float* offloaded) {
    return load_array(stream, source, state,
                      {.divided = true,
                       .shard = shard_replica_->shard(),
                       .device = &device,
                       .kept = host ? shard_replica_->kept() : SIZE_MAX,
                       .host = offloaded});
  };
  TROUPE_TRY(load("", shard_replica_->parameters(), host ? host->parameters() : nullptr));
  for (std::size_t slot = 0; slot < optimizer_slots_.size(); ++slot)
    TROUPE_TRY(load(optimizer_slots_[slot], shard_replica_->state(slot),
                    host ? host->state(slot) : nullptr));
  return {};
}

void ModelState::copy_of_shard(Stream& stream, const SavedRange& saved, float* to) const {
  const auto& bucket = plan_.buckets[bucket_of(*saved.slot)];
  const auto before = range(bucket).first, inside = place_of(saved) - flat_place(bucket);
  const auto first = before + inside, end = first + saved.elements;
  const auto cut = host_ ? std::clamp(kept_, first, end) : end;
  const bool parameters = saved.array == parameters_array;
  const auto slot = saved.array - first_optimizer_array;
  if (cut > first) {
    const auto views = chunk(bucket);
    const float* const from =
        parameters ? views.parameters + inside : optimizer_[slot]->floats() + first;
    device_.copy(stream, to, from, (cut - first) * sizeof(float));
  }
  if (cut == end)
    return;
  const float* const offloaded = parameters ? host_->parameters() : host_->state(slot);
  device_.copy(stream, to + (cut - first), offloaded + (cut - kept_), (end - cut) * sizeof(float));
}

void ModelState::copy_of_replica(Stream& stream, const SavedRange& saved, float* to) const {
  const bool parameters = saved.array == parameters_array;
  shard_replica_->copy(device_, stream,
                       parameters ? std::nullopt
                                  : std::optional{saved.array - first_optimizer_array},
                       plan_.buckets[bucket_of(*saved.slot)], place_of(saved), saved.elements, to);
}

} // namespace troupe::training
