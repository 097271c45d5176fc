#include "training/reducer/timed_collectives.hpp"

namespace troupe::training {

using collectives::Values;
using metrics::CollectiveKind;

void TimedCollectives::run(collectives::Communicator& communicator, CollectiveKind kind,
                           std::size_t bytes, std::string_view of, StepWork& work,
                           const std::function<void()>& call) const {
  const auto before = communicator.traffic();
  auto begin = stream().record();
  {
    const auto span = row.span(stream(), {metrics::SpanKind::collective, metrics::to_string(kind),
                                          of, work.plan.step, bytes});
    call();
  }
  work.done.push_back({kind, std::move(begin), stream().record(), communicator.traffic() - before});
}

void TimedCollectives::all_reduce(collectives::Communicator& group, const Values& values,
                                  StepWork& work, std::string_view of) const {
  run(group, CollectiveKind::all_reduce, values.bytes(), of, work,
      [&] { group.all_reduce(stream(), values); });
}

void TimedCollectives::broadcast(const Values& values, StepWork& work, std::string_view of) const {
  auto& world = *rank_state->world;
  run(world, CollectiveKind::broadcast, values.bytes(), of, work,
      [&] { world.broadcast(stream(), values, 0); });
}

Values TimedCollectives::as_sent(float* values, std::size_t elements, DType type,
                                 std::size_t place) const {
  if (type == DType::f32)
    return {values, elements};
  return {rank_state->state->buffers().wire() + place * size_of(type), elements, type};
}

void TimedCollectives::narrow(const float* values, const Values& to) const {
  if (to.type != DType::f32)
    rank_state->device().narrow(stream(), values, to.data, to.type, to.elements);
}

void TimedCollectives::widen(const Values& sent, float* to) const {
  if (sent.type != DType::f32)
    rank_state->device().widen(stream(), sent.data, sent.type, to, sent.elements);
}

} // namespace troupe::training
