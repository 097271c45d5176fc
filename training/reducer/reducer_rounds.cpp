// Ends of rounds, between which ranks train by themselves.
#include "training/reducer/reducer.hpp"

#include <cmath>

namespace troupe::training {

int slices_of_replica_group(const data::SliceAssignment& slice_assignment, const Strategy& strategy,
                            int rank) {
  const auto first = rank / strategy.replica_group * strategy.replica_group;
  int slices = 0;
  for (int member = first; member < first + strategy.replica_group; ++member)
    slices += slice_assignment.slices_of(member);
  return slices;
}

/// If ranks are in several processes, a round counts after all have voted for it. Until then each
/// keeps the state after the previous round (ModelState::keep_base).
void GradientReducer::end_round(std::int64_t step, const StepPlan& planned, StepResults* found,
                                Collectives& done) {
  const auto span = setup_.row.span(stream(), {metrics::SpanKind::optimizer, "round", "", step});
  if (!planned.sums) {
    average(strategy().rounds.momentum, found, done);
    if (setup_.votes)
      vote(step, done);
  }
  state().keep_base(stream());
}

void GradientReducer::synchronize(std::int64_t step) {
  Collectives of_no_step;
  if (strategy().has_replica_groups())
    average_rest(of_no_step);
  else
    average(OptimizerAtRound::averaged, nullptr, of_no_step);
  if (setup_.votes)
    vote(step, of_no_step);
  state().keep_base(stream());
}

/// Returns this rank's share of the slices of a step.
double GradientReducer::weight() const {
  const auto& slice_assignment = setup_.slice_assignment;
  return static_cast<double>(slice_assignment.slices_of(rank_state().rank)) /
         slice_assignment.slices();
}

void GradientReducer::average(OptimizerAtRound optimizer, StepResults* found, Collectives& done) {
  auto& device = rank_state().device();
  if (found) {
    add_squared_parameters(weight());
    rank_state().world->all_reduce(stream(), {&state().scratch()->squared_norm, 1, DType::f64});
    device.copy(stream(), &found->mean_square, &state().scratch()->squared_norm, sizeof(double));
  }
  for (const auto& bucket : plan().buckets)
    if (!layout().is_frozen(bucket))
      average(buffers().parameters(bucket), bucket.elements, done, "parameters");
  if (found) {
    add_squared_parameters(1);
    device.copy(stream(), &found->square_of_mean, &state().scratch()->squared_norm, sizeof(double));
  }
  average_optimizer(optimizer, done);
  average_rest(done);
}

void GradientReducer::average_rest(Collectives& done) {
  if (const auto elements = layout().storage().statistic_elements; elements > 0)
    average(state().statistics().values(), elements, done, "statistics");
  // Takes rank 0's scale, because a scale is a power of two and a mean need not be.
  if (auto* const scale = state().loss_scale())
    rank_state().world->broadcast(stream(), {scale, sizeof *scale, DType::u8}, 0);
}

/// Averages over ranks, weighted by their slices. Rounds the result, because the mean of values of
/// a narrow type need not be a value of that type.
void GradientReducer::average(float* values, std::size_t elements, Collectives& done,
                              std::string_view what) {
  auto& device = rank_state().device();
  const auto& slice_assignment = setup_.slice_assignment;
  if (!slice_assignment.is_even())
    device.scale(stream(), values,
                 static_cast<float>(slice_assignment.slices_of(rank_state().rank)), elements);
  all_reduce(*rank_state().world, {values, elements}, done, what);
  const auto all =
      slice_assignment.is_even() ? slice_assignment.world_size() : slice_assignment.slices();
  device.scale(stream(), values, static_cast<float>(1.0 / all), elements);
  device.round(stream(), values, layout().stored(), elements);
}

void GradientReducer::average_optimizer(OptimizerAtRound how, Collectives& done) {
  for (const auto& slot : part().inner_slots()) {
    if (how == OptimizerAtRound::reset)
      rank_state().device().zero(stream(), slot.data(), slot.size_bytes());
    if (how == OptimizerAtRound::averaged)
      average(slot.data(), slot.size(), done, "optimizer");
  }
}

void GradientReducer::add_squared_parameters(double weight) {
  auto& device = rank_state().device();
  double* const sum = &state().scratch()->squared_norm;
  const OptimizerArguments scaled{.gradient_scale = static_cast<float>(std::sqrt(weight))};
  device.zero(stream(), sum, sizeof *sum);
  for (const auto& bucket : plan().buckets)
    device.add_squared_norm(stream(), scaled, buffers().parameters(bucket), bucket.elements, sum,
                            nullptr);
}

} // namespace troupe::training
