#include "training/reducer/shard_optimizer.hpp"

#include "core/fail.hpp"

namespace troupe::training {

/// Gradients are already summed over ranks: a value that was not finite on one rank is found by all
/// ranks that hold the sum.
void ShardOptimizer::check_finite() const {
  for (const auto& views : part().chunks())
    device().check_finite(stream(), views.gradients, views.elements,
                          &state().loss_scale()->found_inf);
}

void ShardOptimizer::square_gradients(const OptimizerArguments& taken) const {
  double* const norm = &state().scratch()->squared_norm;
  device().zero(stream(), norm, sizeof *norm);
  for (const auto& views : part().chunks())
    device().add_squared_norm(stream(), taken, views.gradients, views.elements, norm,
                              state().loss_scale());
}

void ShardOptimizer::clip() const {
  if (clip_norm_)
    device().clip_factor(stream(), &state().scratch()->squared_norm,
                         static_cast<float>(*clip_norm_), &state().scratch()->clip_factor);
}

void ShardOptimizer::apply(const std::vector<OptimizerChunk>& chunks,
                           const OptimizerArguments& taken) const {
  if (layout().has_optimizer())
    optimizer_step(device(), stream(), chunks, taken,
                   {clip_norm_ ? &state().scratch()->clip_factor : nullptr, state().loss_scale()});
}

void ShardOptimizer::apply_step(const OptimizerArguments& taken, StepResults* found) const {
  apply(part().kept_chunks(), taken);
  if (const auto* const replica = state().shard_replica())
    for (const auto& bucket : layout().plan().buckets)
      apply(replica->kept_chunks(bucket), taken);
  auto* const scale = state().loss_scale();
  if (scale)
    device().update_loss_scale(stream(), *loss_scale_, scale);
  device().count_update(stream(), &state().scratch()->steps);
  if (!scale)
    return;
  if (layout().strategy().root_only) // only rank 0 knows whether the sums are finite
    rank_state_->world->broadcast(stream(), {scale, sizeof *scale, DType::u8}, 0);
  device().copy(stream(), &found->loss_scale, scale, sizeof *scale);
}

void ShardOptimizer::find(const StepPlan& planned, const OptimizerArguments& taken,
                          StepResults* found) const {
  for (const auto& bucket : layout().plan().buckets)
    for (const auto& gap : layout().foreign_gaps(bucket))
      device().zero(stream(), part().gradients(bucket) + gap.first, gap.elements * sizeof(float));
  if (auto* const scale = state().loss_scale()) {
    check_finite();
    device().copy(stream(), &found->loss_scale, scale, sizeof *scale);
  }
  if (!planned.measures_norm)
    return;
  square_gradients(taken);
  device().copy(stream(), &found->squared_norm, &state().scratch()->squared_norm, sizeof(double));
}

void ShardOptimizer::prepare(const StepResults* of_all) const {
  if (auto* const scale = state().loss_scale())
    device().copy(stream(), &scale->found_inf, &of_all->loss_scale.found_inf, sizeof(float));
  if (clip_norm_)
    device().copy(stream(), &state().scratch()->squared_norm, &of_all->squared_norm,
                  sizeof(double));
  clip();
  if (state().prepares())
    state().prepare(stream());
}

Status ShardOptimizer::roll_forward(const OptimizerArguments& taken) const {
  const auto stream = device().create_stream({.name = "rolling forward"});
  const auto& prepared = state().prepared();
  auto* const scale = state().loss_scale();
  float* const clip_factor = &state().scratch()->clip_factor;
  if (prepared.memory) {
    device().copy(*stream, clip_factor, &prepared.scratch()->clip_factor, sizeof(float));
    if (scale)
      device().copy(*stream, scale, &prepared.scratch()->loss_scale, sizeof *scale);
  }
  for (const auto* const each : state().parts())
    for (const auto& bucket : layout().plan().buckets)
      optimizer_step(device(), *stream,
                     each->kept_chunks(bucket, state().prepared_gradients(*each, bucket)), taken,
                     {clip_norm_ ? clip_factor : nullptr, scale});
  if (part().host())
    TROUPE_TRY(roll_host_forward(taken, *stream));
  if (scale)
    device().update_loss_scale(*stream, *loss_scale_, scale);
  return stream->synchronize();
}

/// Copies the gradients to the host again, because the host's copy may be of a later step.
Status ShardOptimizer::roll_host_forward(const OptimizerArguments& taken, Stream& stream) const {
  auto& updater = *rank_state_->compiled->updater;
  auto& host = part().host()->scalars();
  auto* const scale = state().loss_scale();
  device().copy(stream, &host.clip_factor, &state().scratch()->clip_factor, sizeof(float));
  if (scale)
    device().copy(stream, &host.loss_scale, scale, sizeof *scale);
  for (const auto* const each : state().parts())
    for (const auto& bucket : layout().plan().buckets) {
      const auto chunk = each->host_chunk(bucket);
      device().copy(stream, chunk.fetched,
                    state().prepared_gradients(*each, bucket) + layout().kept(bucket),
                    chunk.host.elements * sizeof(float));
    }
  TROUPE_TRY(stream.synchronize());
  const auto updates = updater.create_stream({.name = "rolling forward"});
  for (const auto* const each : state().parts())
    for (const auto& bucket : layout().plan().buckets)
      optimizer_step(
          updater, *updates, each->host_chunks(bucket), taken,
          {clip_norm_ ? &host.clip_factor : nullptr, scale ? &host.loss_scale : nullptr});
  return updates->synchronize();
}

} // namespace troupe::training
