#include "training/reducer/reducer_setup.hpp"

namespace troupe::training {

StepPlan GradientReducerSetup::step_plan(std::int64_t step) const {
  const auto& state = *rank_state->state;
  const auto& strategy = state.layout().strategy();
  auto planned = rules_of(strategy.policy).plan(strategy, step);
  planned.step = step;
  planned.ends_round = strategy.trains_apart() && planned.agrees;
  // Replica groups vote only when they synchronize.
  planned.votes = votes && !strategy.has_replica_groups() && planned.sums;
  planned.measures_norm = clip_norm || (norm_every > 0 && step % norm_every == 0);
  const bool beside_backward = strategy.world_size > 1 || strategy.offloads();
  planned.applies_early =
      beside_backward && !planned.votes && !planned.measures_norm && !state.loss_scale();
  // Backward takes twice as long as forward: it has time for the reduce-scatters, which are half of
  // the bytes, and for up to half of the all-gathers. It takes those of the last units' parameters,
  // which the next forward needs last. If all were left to the next forward, it would wait for
  // them.
  const bool gathers = strategy.divides_optimizer && !strategy.divides_parameters;
  if (gathers && planned.applies_early && !strategy.offloads())
    planned.published_early = (state.layout().plan().elements + 1) / 2;
  return planned;
}

OptimizerArguments GradientReducerSetup::arguments(const StepPlan& planned) const {
  const auto& strategy = rank_state->state->layout().strategy();
  const auto slices_of_all =
      strategy.has_replica_groups()
          ? slice_assignment.slices_of_group(rank_state->rank, strategy.replica_group)
          : slice_assignment.slices();
  return arguments(planned.step,
                   planned.sums ? slices_of_all : slice_assignment.slices_of(rank_state->rank));
}

} // namespace troupe::training
