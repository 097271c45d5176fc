#include "training/reducer/rank_average.hpp"

#include <cmath>

namespace troupe::training {

void RankAverage::average_all(OptimizerAtRound optimizer, StepResults* found) const {
  double* const norm = &state().scratch()->squared_norm;
  if (found) {
    add_squared_parameters(static_cast<double>(slices()) / setup.slice_assignment.slices());
    setup.rank_state->world->all_reduce(stream(), {norm, 1, DType::f64});
    device().copy(stream(), &found->mean_square, norm, sizeof *norm);
  }
  for (const auto& bucket : state().layout().plan().buckets)
    if (!state().layout().is_frozen(bucket))
      average(state().buffers().parameters(bucket), bucket.elements, "parameters");
  if (found) {
    add_squared_parameters(1);
    device().copy(stream(), &found->square_of_mean, norm, sizeof *norm);
  }
  for (const auto& slot : state().buffers().part().inner_slots()) {
    if (optimizer == OptimizerAtRound::reset)
      device().zero(stream(), slot.data(), slot.size_bytes());
    if (optimizer == OptimizerAtRound::averaged)
      average(slot.data(), slot.size(), "optimizer");
  }
  average_rest();
}

void RankAverage::average_rest() const {
  if (const auto elements = state().layout().storage().statistic_elements; elements > 0)
    average(state().statistics().values(), elements, "statistics");
  // Takes rank 0's scale, because a scale is a power of two and a mean need not be.
  if (auto* const scale = state().loss_scale())
    setup.rank_state->world->broadcast(stream(), {scale, sizeof *scale, DType::u8}, 0);
}

/// Rounds the result, because the mean of values of a narrow type need not be a value of that type.
void RankAverage::average(float* values, std::size_t elements, std::string_view what) const {
  if (!setup.slice_assignment.is_even())
    device().scale(stream(), values, static_cast<float>(slices()), elements);
  collectives.all_reduce(*setup.rank_state->world, {values, elements}, work, what);
  const auto all = setup.slice_assignment.is_even() ? setup.slice_assignment.world_size()
                                                    : setup.slice_assignment.slices();
  device().scale(stream(), values, static_cast<float>(1.0 / all), elements);
  device().round(stream(), values, state().layout().stored(), elements);
}

void RankAverage::add_squared_parameters(double weight) const {
  double* const sum = &state().scratch()->squared_norm;
  const OptimizerArguments scaled{.gradient_scale = static_cast<float>(std::sqrt(weight))};
  device().zero(stream(), sum, sizeof *sum);
  for (const auto& bucket : state().layout().plan().buckets)
    device().add_squared_norm(stream(), scaled, state().buffers().parameters(bucket),
                              bucket.elements, sum, nullptr);
}

} // namespace troupe::training
