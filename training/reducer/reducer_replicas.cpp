// Keeps shard replicas up to date, and rolls a rank forward that is a step late.
#include "core/fail.hpp"
#include "training/reducer/reducer.hpp"

namespace troupe::training {

using collectives::Bucket;
using collectives::Values;
using metrics::CollectiveKind;

namespace {

void copy_elements(Device& device, Stream& stream, const HostChunk& chunk, const float* gradients) {
  device.copy(stream, const_cast<float*>(chunk.host.gradients), gradients,
              chunk.host.elements * sizeof(float));
}

} // namespace

/// Returns the narrowest type that holds reduced gradients without loss. Sums sent in a narrower
/// type are values of that type, unless several of them were added here or rounded to another type.
DType GradientReducer::replica_type() const {
  const bool adds = state().sums_shards() && setup_.slice_assignment.passes() > 1;
  const auto stored = state().stored(), reduced = strategy().reduced;
  const bool rounds = stored != DType::f32 && stored != reduced;
  return adds || rounds ? DType::f32 : reduced;
}

void GradientReducer::send_to_replica(const Bucket& bucket, const float* gradients,
                                      Collectives& done) {
  auto& world = *rank_state().world;
  auto& device = rank_state().device();
  const auto elements = plan().shard_elements(bucket);
  const auto type = replica_type();
  float* const copy = state().shard_replica()->gradients(bucket);
  Values mine{const_cast<float*>(gradients), elements, type};
  void* received = copy;
  if (type != DType::f32) {
    mine.data = state().wire();
    received = state().wire() + mine.bytes();
    device.narrow(stream(), gradients, mine.data, type, elements);
  }
  collective(world, CollectiveKind::shard_replica, mine.bytes(), done,
             [&] { world.shift(stream(), mine, received, setup_.replica_distance); });
  if (type != DType::f32)
    device.widen(stream(), received, type, copy, elements);
}

void GradientReducer::apply_to_copy(const OptimizerArguments& arguments) {
  const auto& shard_replica = *state().shard_replica();
  for (const auto& chunk : shard_replica.kept_chunks(shard_replica.gradients()))
    apply(chunk, arguments);
}

Status GradientReducer::roll_forward(std::int64_t step) {
  auto& device = rank_state().device();
  const auto stream = device.create_stream({.name = "rolling forward"});
  const auto taken = arguments(step);
  const auto& prepared = state().prepared();
  auto* const scale = state().loss_scale();
  if (prepared.findings) {
    device.copy(*stream, state().clip_factor(), prepared.clip_factor(), sizeof(float));
    if (scale)
      device.copy(*stream, scale, prepared.loss_scale(), sizeof *scale);
  }
  const auto apply = [&](const std::vector<OptimizerChunk>& chunks) {
    for (const auto& chunk : chunks)
      device.optimizer_step(*stream, at_rate(taken, chunk.rate), chunk,
                            setup_.clip_norm ? state().clip_factor() : nullptr, scale);
  };
  for (const auto& bucket : plan().buckets)
    apply(state().prepared_chunks(bucket));
  if (const auto* const shard_replica = state().shard_replica())
    apply(shard_replica->kept_chunks(prepared.replicated ? prepared.replicated->floats()
                                                         : shard_replica->gradients()));
  if (state().host())
    TROUPE_TRY(roll_forward_on_host(taken, *stream));
  if (scale)
    device.update_loss_scale(*stream, *setup_.loss_scale, scale);
  return stream->synchronize();
}

/// Copies the gradients to the host again, because the host's copy may be of a later step.
Status GradientReducer::roll_forward_on_host(const OptimizerArguments& taken, Stream& stream) {
  auto& device = rank_state().device();
  auto& updater = *rank_state().compiled->updater;
  const auto& host = *state().host();
  const auto* const shard_replica = state().shard_replica();
  const auto& prepared = state().prepared();
  device.copy(stream, host.clip_factor(), state().clip_factor(), sizeof(float));
  if (const auto* const scale = state().loss_scale())
    device.copy(stream, host.loss_scale(), scale, sizeof *scale);
  for (const auto& bucket : plan().buckets) {
    const auto own = state().host_chunk(bucket);
    copy_elements(device, stream, own,
                  state().prepared_gradients(bucket) + state().kept_chunk(bucket).elements);
    if (!shard_replica)
      continue;
    const auto copy = shard_replica->host_chunk(bucket);
    copy_elements(device, stream, copy,
                  prepared.replicated ? prepared.replicated->floats() +
                                            (copy.gradients - shard_replica->gradients())
                                      : copy.gradients);
  }
  TROUPE_TRY(stream.synchronize());
  const auto updates = updater.create_stream({.name = "rolling forward"});
  const auto apply = [&](const std::vector<OptimizerChunk>& chunks) {
    for (const auto& chunk : chunks)
      updater.optimizer_step(*updates, at_rate(taken, chunk.rate), chunk,
                             setup_.clip_norm ? host.clip_factor() : nullptr,
                             state().loss_scale() ? host.loss_scale() : nullptr);
  };
  for (const auto& bucket : plan().buckets) {
    apply(state().host_chunks(bucket));
    if (shard_replica)
      apply(shard_replica->host_chunks(bucket));
  }
  return updates->synchronize();
}

} // namespace troupe::training
