// Keeps shard replicas up to date, and rolls a rank forward that is a step late.
#include "core/fail.hpp"
#include "training/reducer/reducer.hpp"

namespace troupe::training {

using metrics::CollectiveKind;

/// Returns the narrowest type that holds reduced gradients without loss. Sums sent in a narrower
/// type are values of that type, unless several of them were added here or rounded to another type.
DType GradientReducer::replica_type() const {
  const bool adds = strategy().sums_shards() && setup_.slice_assignment.passes() > 1;
  const auto stored = layout().stored(), reduced = strategy().reduced;
  const bool rounds = stored != DType::f32 && stored != reduced;
  return adds || rounds ? DType::f32 : reduced;
}

void GradientReducer::send_to_replica(const Bucket& bucket, float* gradients, Collectives& done) {
  auto& world = *rank_state().world;
  const auto elements = plan().shard_elements(bucket);
  float* const copy = state().shard_replica()->gradients(bucket);
  const auto mine = as_sent(gradients, elements, replica_type());
  const auto received = as_sent(copy, elements, mine.type, elements);
  narrow(gradients, mine);
  collective(world, CollectiveKind::shard_replica, mine.bytes(), done,
             [&] { world.shift(stream(), mine, received.data, setup_.replica_distance); });
  widen(received, copy);
}

Status GradientReducer::roll_forward(std::int64_t step) {
  auto& device = rank_state().device();
  const auto stream = device.create_stream({.name = "rolling forward"});
  const auto taken = arguments(step);
  const auto& prepared = state().prepared();
  auto* const scale = state().loss_scale();
  float* const clip_factor = &state().scratch()->clip_factor;
  if (prepared.memory) {
    device.copy(*stream, clip_factor, &prepared.scratch()->clip_factor, sizeof(float));
    if (scale)
      device.copy(*stream, scale, &prepared.scratch()->loss_scale, sizeof *scale);
  }
  for (const auto* const each : state().parts())
    for (const auto& bucket : plan().buckets)
      optimizer_step(device, *stream,
                     each->kept_chunks(bucket, state().prepared_gradients(*each, bucket)), taken,
                     {setup_.clip_norm ? clip_factor : nullptr, scale});
  if (part().host())
    TROUPE_TRY(roll_forward_on_host(taken, *stream));
  if (scale)
    device.update_loss_scale(*stream, *setup_.loss_scale, scale);
  return stream->synchronize();
}

/// Copies the gradients to the host again, because the host's copy may be of a later step.
Status GradientReducer::roll_forward_on_host(const OptimizerArguments& taken, Stream& stream) {
  auto& device = rank_state().device();
  auto& updater = *rank_state().compiled->updater;
  auto& host = part().host()->scalars();
  auto* const scale = state().loss_scale();
  device.copy(stream, &host.clip_factor, &state().scratch()->clip_factor, sizeof(float));
  if (scale)
    device.copy(stream, &host.loss_scale, scale, sizeof *scale);
  for (const auto* const each : state().parts())
    for (const auto& bucket : plan().buckets) {
      const auto chunk = each->host_chunk(bucket);
      device.copy(stream, chunk.fetched,
                  state().prepared_gradients(*each, bucket) + layout().kept(bucket),
                  chunk.host.elements * sizeof(float));
    }
  TROUPE_TRY(stream.synchronize());
  const auto updates = updater.create_stream({.name = "rolling forward"});
  for (const auto* const each : state().parts())
    for (const auto& bucket : plan().buckets)
      optimizer_step(
          updater, *updates, each->host_chunks(bucket), taken,
          {setup_.clip_norm ? &host.clip_factor : nullptr, scale ? &host.loss_scale : nullptr});
  return updates->synchronize();
}

} // namespace troupe::training
