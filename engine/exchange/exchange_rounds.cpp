// The ends of rounds, between which ranks train by themselves.
#include "engine/exchange/exchange.hpp"

#include <cmath>

namespace troupe::engine {

using collectives::OptimizerAtRound;
using metrics::CollectiveKind;

int slices_of_team(const data::Dealing& dealing, const collectives::Strategy& strategy, int rank) {
  const auto first = rank / strategy.team * strategy.team;
  int slices = 0;
  for (int member = first; member < first + strategy.team; ++member)
    slices += dealing.slices_of(member);
  return slices;
}

/// Where ranks are in several processes, a round counts when all have voted for it: until then each
/// has what the last one came to (ModelState::base).
void Exchange::end_round(std::int64_t step, StepFindings* found, Collectives& done) {
  const auto span = setup_.row.span(stream(), {metrics::SpanKind::optimizer, "round", "", step});
  if (!sums_step(step)) {
    average(strategy().rounds.optimizer, found, done);
    if (setup_.votes)
      vote(step, done);
  }
  state().keep_base(stream());
}

void Exchange::meet(std::int64_t step) {
  Collectives of_no_step;
  if (strategy().has_teams())
    average_rest(of_no_step);
  else
    average(OptimizerAtRound::averaged, nullptr, of_no_step);
  if (setup_.votes)
    vote(step, of_no_step);
  state().keep_base(stream());
}

/// Of all slices of a step, those of this rank.
double Exchange::weight() const {
  const auto& dealing = setup_.dealing;
  return static_cast<double>(dealing.slices_of(replica().rank)) / dealing.slices();
}

void Exchange::average(OptimizerAtRound optimizer, StepFindings* found, Collectives& done) {
  auto& device = replica().device();
  if (found) {
    add_squared_parameters(weight());
    replica().world->all_reduce(stream(), {state().squared_norm(), 1, DType::f64});
    device.copy(stream(), &found->mean_square, state().squared_norm(), sizeof(double));
  }
  for (const auto& bucket : plan().buckets)
    if (!state().is_frozen(bucket))
      average(state().parameters(bucket), bucket.elements, done, "parameters");
  if (found) {
    add_squared_parameters(1);
    device.copy(stream(), &found->square_of_mean, state().squared_norm(), sizeof(double));
  }
  average_optimizer(optimizer, done);
  average_rest(done);
}

void Exchange::average_rest(Collectives& done) {
  if (const auto elements = state().layout().statistic_elements; elements > 0)
    average(state().statistics(), elements, done, "statistics");
  // One rank's, as a scale is a power of two that a mean need not be.
  if (auto* const scale = state().loss_scale())
    replica().world->broadcast(stream(), {scale, sizeof *scale, DType::u8}, 0);
}

/// Each rank counts for the slices that it has. A mean of values of a narrow type need not be one.
void Exchange::average(float* values, std::size_t elements, Collectives& done,
                       std::string_view what) {
  auto& device = replica().device();
  const auto& dealing = setup_.dealing;
  if (!dealing.is_even())
    device.scale(stream(), values, static_cast<float>(dealing.slices_of(replica().rank)), elements);
  auto& world = *replica().world;
  collective(
      world, CollectiveKind::all_reduce, elements * sizeof(float), done,
      [&] {
        world.all_reduce(stream(), {values, elements});
      },
      what);
  const auto all = dealing.is_even() ? dealing.world_size() : dealing.slices();
  device.scale(stream(), values, static_cast<float>(1.0 / all), elements);
  device.round(stream(), values, state().stored(), elements);
}

void Exchange::average_optimizer(OptimizerAtRound how, Collectives& done) {
  for (const auto& slot : state().optimizer_arrays()) {
    if (how == OptimizerAtRound::reset)
      replica().device().zero(stream(), slot.data(), slot.size_bytes());
    if (how == OptimizerAtRound::averaged)
      average(slot.data(), slot.size(), done, "optimizer");
  }
}

void Exchange::add_squared_parameters(double weight) {
  auto& device = replica().device();
  double* const sum = state().squared_norm();
  const OptimizerArguments scaled{.gradient_scale = static_cast<float>(std::sqrt(weight))};
  device.zero(stream(), sum, sizeof *sum);
  for (const auto& bucket : plan().buckets)
    device.add_squared_norm(stream(), scaled, state().parameters(bucket), bucket.elements, sum,
                            nullptr);
}

} // namespace troupe::engine
