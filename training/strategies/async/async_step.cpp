#include "training/strategies/async/async_step.hpp"

#include <utility>

namespace troupe::training {

AsyncStep::AsyncStep(GradientReducerSetup setup) : setup_{std::move(setup)}, optimizer_{setup_} {}

void AsyncStep::find(StepResults* found) const {
  const auto& layout = state().layout();
  for (const auto& bucket : layout.plan().buckets)
    for (const auto& gap : layout.foreign_gaps(bucket))
      device().zero(stream(), state().buffers().part().gradients(bucket) + gap.first,
                    gap.elements * sizeof(float));
  if (auto* const scale = state().loss_scale()) {
    optimizer_.check_finite();
    device().copy(stream(), &found->loss_scale, scale, sizeof *scale);
  }
  if (!plan_.measures_norm)
    return;
  optimizer_.square_gradients(arguments());
  device().copy(stream(), &found->squared_norm, &state().scratch()->squared_norm, sizeof(double));
}

void AsyncStep::prepare(const StepResults* of_all) const {
  if (auto* const scale = state().loss_scale())
    device().copy(stream(), &scale->found_inf, &of_all->loss_scale.found_inf, sizeof(float));
  if (setup_.clip_norm)
    device().copy(stream(), &state().scratch()->squared_norm, &of_all->squared_norm,
                  sizeof(double));
  optimizer_.clip();
  if (state().prepares())
    state().prepare(stream());
}

void AsyncStep::apply(StepResults* found) const {
  const auto span =
      setup_.row.span(stream(), {metrics::SpanKind::optimizer, "optimizer", "", plan_.step});
  optimizer_.apply_step(arguments(), found);
}

} // namespace troupe::training
