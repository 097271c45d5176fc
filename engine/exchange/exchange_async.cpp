// A step of a shard whose gradients came by mail: what the collectives of a synchronous step find
// out, ranks tell each other by message between these three.
#include "engine/exchange/exchange.hpp"

namespace troupe::engine {

void Exchange::find(std::int64_t step, StepFindings* found) {
  auto& device = replica().device();
  for (const auto& bucket : plan().buckets)
    for (const auto& gap : state().foreign_gradients(bucket))
      device.zero(stream(), const_cast<float*>(state().piece(bucket).gradients) + gap.first,
                  gap.elements * sizeof(float));
  if (auto* const scale = state().loss_scale()) {
    for (const auto& views : state().pieces())
      device.check_finite(stream(), views.gradients, views.elements, &scale->found_inf);
    device.copy(stream(), &found->loss_scale, scale, sizeof *scale);
  }
  if (!measures_norm(step))
    return;
  add_squared_gradients(arguments(step));
  device.copy(stream(), &found->squared_norm, state().squared_norm(), sizeof(double));
}

void Exchange::prepare(const StepFindings* of_all) {
  auto& device = replica().device();
  if (auto* const scale = state().loss_scale())
    device.copy(stream(), &scale->found_inf, &of_all->loss_scale.found_inf, sizeof(float));
  if (setup_.clip_norm) {
    device.copy(stream(), state().squared_norm(), &of_all->squared_norm, sizeof(double));
    device.clip_factor(stream(), state().squared_norm(), static_cast<float>(*setup_.clip_norm),
                       state().clip_factor());
  }
  if (state().prepares())
    state().prepare(stream());
}

void Exchange::apply_prepared(std::int64_t step, StepFindings* found) {
  const auto taken = arguments(step);
  const auto span =
      setup_.row.span(stream(), {metrics::SpanKind::optimizer, "optimizer", "", step});
  for (const auto& piece : state().kept_pieces())
    apply(piece, taken);
  if (state().buddy())
    apply_to_copy(taken);
  end_scaled_step(found);
}

void Exchange::apply_to(const ShardCopy& copy, const collectives::Bucket& bucket, std::int64_t step,
                        const float* sum, int slices) const {
  auto taken = arguments(step);
  taken.gradient_scale = 1 / static_cast<float>(slices);
  const auto place = plan().shard_offset(bucket);
  const auto slot = [&](std::size_t number, std::size_t at) {
    return number < copy.slots.size() ? copy.slots[number]->floats() + at : nullptr;
  };
  for (auto piece : state().kept_pieces(bucket)) {
    const auto at = static_cast<std::size_t>(piece.parameters - state().owned_parameters());
    piece.parameters = copy.parameters->floats() + at;
    piece.gradients = sum + (at - place);
    piece.state0 = slot(0, at);
    piece.state1 = slot(1, at);
    piece.copies = nullptr;
    replica().device().optimizer_step(stream(), at_rate(taken, piece.rate), piece, nullptr,
                                      nullptr);
  }
}

} // namespace troupe::engine
