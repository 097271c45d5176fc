// Rolls a rank forward that is a step late.
#include "core/fail.hpp"
#include "training/reducer/reducer.hpp"

namespace troupe::training {

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
