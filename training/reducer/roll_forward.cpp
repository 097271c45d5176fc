#include "training/reducer/roll_forward.hpp"

#include "core/fail.hpp"

namespace troupe::training {

namespace {

/// Copies the gradients to the host again, because the host's copy may be of a later step.
Status roll_host_forward(const GradientReducerSetup& setup, const OptimizerArguments& taken,
                         Stream& stream) {
  const auto& state = *setup.rank_state->state;
  const auto& layout = state.layout();
  auto& device = setup.rank_state->device();
  auto& updater = *setup.rank_state->compiled->updater;
  auto& host = state.buffers().part().host()->scalars();
  auto* const scale = state.loss_scale();
  device.copy(stream, &host.clip_factor, &state.scratch()->clip_factor, sizeof(float));
  if (scale)
    device.copy(stream, &host.loss_scale, scale, sizeof *scale);
  for (const auto* const each : state.parts())
    for (const auto& bucket : layout.plan().buckets) {
      const auto chunk = each->host_chunk(bucket);
      device.copy(stream, chunk.fetched,
                  state.prepared_gradients(*each, bucket) + layout.kept(bucket),
                  chunk.host.elements * sizeof(float));
    }
  TROUPE_TRY(stream.synchronize());
  const auto updates = updater.create_stream({.name = "rolling forward"});
  for (const auto* const each : state.parts())
    for (const auto& bucket : layout.plan().buckets)
      optimizer_step(
          updater, *updates, each->host_chunks(bucket), taken,
          {setup.clip_norm ? &host.clip_factor : nullptr, scale ? &host.loss_scale : nullptr});
  return updates->synchronize();
}

} // namespace

Status roll_forward(const GradientReducerSetup& setup, std::int64_t step) {
  const auto& state = *setup.rank_state->state;
  auto& device = setup.rank_state->device();
  const auto stream = device.create_stream({.name = "rolling forward"});
  // Only steps whose gradients are summed over all slices are prepared.
  const auto taken = setup.arguments(step, setup.slice_assignment.slices());
  const auto& prepared = state.prepared();
  auto* const scale = state.loss_scale();
  float* const clip_factor = &state.scratch()->clip_factor;
  if (prepared.memory) {
    device.copy(*stream, clip_factor, &prepared.scratch()->clip_factor, sizeof(float));
    if (scale)
      device.copy(*stream, scale, &prepared.scratch()->loss_scale, sizeof *scale);
  }
  for (const auto* const each : state.parts())
    for (const auto& bucket : state.layout().plan().buckets)
      optimizer_step(device, *stream,
                     each->kept_chunks(bucket, state.prepared_gradients(*each, bucket)), taken,
                     {setup.clip_norm ? clip_factor : nullptr, scale});
  if (state.buffers().part().host())
    TROUPE_TRY(roll_host_forward(setup, taken, *stream));
  if (scale)
    device.update_loss_scale(*stream, *setup.loss_scale, scale);
  return stream->synchronize();
}

} // namespace troupe::training
