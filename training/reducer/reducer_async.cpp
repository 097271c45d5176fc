// Asynchronous steps: the gradients of a shard arrive by point-to-point messages. Between these
// three calls, ranks exchange by message the results that a synchronous step computes with
// collectives.
#include "training/reducer/reducer.hpp"

namespace troupe::training {

void GradientReducer::find(std::int64_t step, StepResults* found) {
  auto& device = rank_state().device();
  for (const auto& bucket : plan().buckets)
    for (const auto& gap : layout().foreign_gaps(bucket))
      device.zero(stream(), part().gradients(bucket) + gap.first, gap.elements * sizeof(float));
  if (auto* const scale = state().loss_scale()) {
    check_finite();
    device.copy(stream(), &found->loss_scale, scale, sizeof *scale);
  }
  if (!step_plan(step).measures_norm)
    return;
  add_squared_gradients(arguments(step));
  device.copy(stream(), &found->squared_norm, &state().scratch()->squared_norm, sizeof(double));
}

void GradientReducer::prepare(const StepResults* of_all) {
  auto& device = rank_state().device();
  if (auto* const scale = state().loss_scale())
    device.copy(stream(), &scale->found_inf, &of_all->loss_scale.found_inf, sizeof(float));
  if (setup_.clip_norm) {
    device.copy(stream(), &state().scratch()->squared_norm, &of_all->squared_norm, sizeof(double));
    device.clip_factor(stream(), &state().scratch()->squared_norm,
                       static_cast<float>(*setup_.clip_norm), &state().scratch()->clip_factor);
  }
  if (state().prepares())
    state().prepare(stream());
}

void GradientReducer::apply_prepared(std::int64_t step, StepResults* found) {
  const auto span =
      setup_.row.span(stream(), {metrics::SpanKind::optimizer, "optimizer", "", step});
  apply_kept(arguments(step), found);
}

void GradientReducer::apply_to(const ShardCopy& copy, const Bucket& bucket, std::int64_t step,
                               const float* sum, int slices) const {
  auto taken = arguments(step);
  taken.gradient_scale = 1 / static_cast<float>(slices);
  const auto place = plan().shard_offset(bucket);
  const auto slot = [&](std::size_t number, std::size_t at) {
    return number < copy.slots.size() ? copy.slots[number]->floats() + at : nullptr;
  };
  auto chunks = part().kept_chunks(bucket);
  for (auto& chunk : chunks) {
    const auto at =
        static_cast<std::size_t>(chunk.parameters - buffers().owned_parameters().data());
    chunk.parameters = copy.parameters->floats() + at;
    chunk.gradients = sum + (at - place);
    chunk.state0 = slot(0, at);
    chunk.state1 = slot(1, at);
    chunk.copies = nullptr;
  }
  optimizer_step(rank_state().device(), stream(), chunks, taken, {});
}

} // namespace troupe::training
