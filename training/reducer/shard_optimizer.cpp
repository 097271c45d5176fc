#include "training/reducer/shard_optimizer.hpp"

namespace troupe::training {

ShardOptimizer::ShardOptimizer(const GradientReducerSetup& setup)
    : rank_state_{setup.rank_state}, clip_norm_{setup.clip_norm}, loss_scale_{setup.loss_scale} {}

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
  if (state().layout().has_optimizer())
    optimizer_step(device(), stream(), chunks, taken,
                   {clip_norm_ ? &state().scratch()->clip_factor : nullptr, state().loss_scale()});
}

void ShardOptimizer::apply_step(const OptimizerArguments& taken, StepResults* found) const {
  apply(part().kept_chunks(), taken);
  if (const auto* const replica = state().shard_replica())
    for (const auto& bucket : state().layout().plan().buckets)
      apply(replica->kept_chunks(bucket), taken);
  end_step(found);
}

void ShardOptimizer::end_step(StepResults* found) const {
  auto* const scale = state().loss_scale();
  if (scale)
    device().update_loss_scale(stream(), *loss_scale_, scale);
  device().count_update(stream(), &state().scratch()->steps);
  if (!scale)
    return;
  if (state().layout().strategy().root_only) // only rank 0 knows whether the sums are finite
    rank_state_->world->broadcast(stream(), {scale, sizeof *scale, DType::u8}, 0);
  device().copy(stream(), &found->loss_scale, scale, sizeof *scale);
}

void ShardOptimizer::apply_to(const ShardCopy& copy, const Bucket& bucket, const float* sum,
                              const OptimizerArguments& taken) const {
  const auto place = state().layout().plan().shard_offset(bucket);
  const auto slot = [&](std::size_t number, std::size_t at) {
    return number < copy.slots.size() ? copy.slots[number]->floats() + at : nullptr;
  };
  auto chunks = part().kept_chunks(bucket);
  for (auto& chunk : chunks) {
    const auto at =
        static_cast<std::size_t>(chunk.parameters - state().buffers().owned_parameters().data());
    chunk.parameters = copy.parameters->floats() + at;
    chunk.gradients = sum + (at - place);
    chunk.state0 = slot(0, at);
    chunk.state1 = slot(1, at);
    chunk.copies = nullptr;
  }
  optimizer_step(device(), stream(), chunks, taken, {});
}

} // namespace troupe::training
