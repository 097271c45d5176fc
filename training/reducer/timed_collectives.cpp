#include "training/reducer/timed_collectives.hpp"

#include <algorithm>

namespace troupe::training {

using collectives::Values;
using metrics::CollectiveKind;

void TimedCollectives::run(collectives::Communicator& communicator, CollectiveKind kind,
                           std::size_t bytes, StepWork& work, const std::function<void()>& call,
                           std::string_view of) const {
  const auto before = communicator.traffic();
  auto begin = stream().record();
  {
    const auto span = row_.span(stream(), {metrics::SpanKind::collective, metrics::to_string(kind),
                                           of, work.plan.step, bytes});
    call();
  }
  work.done.push_back({kind, std::move(begin), stream().record(), communicator.traffic() - before});
}

void TimedCollectives::all_reduce(collectives::Communicator& group, const Values& values,
                                  StepWork& work, std::string_view of) const {
  run(
      group, CollectiveKind::all_reduce, values.bytes(), work,
      [&] { group.all_reduce(stream(), values); }, of);
}

void TimedCollectives::broadcast(const Values& values, StepWork& work, std::string_view of) const {
  auto& world = *rank_state_->world;
  run(
      world, CollectiveKind::broadcast, values.bytes(), work,
      [&] { world.broadcast(stream(), values, 0); }, of);
}

void TimedCollectives::exchange(
    collectives::Communicator& communicator, CollectiveKind kind, DType type, const SentPart& from,
    const SentPart& to, StepWork& work,
    const std::function<void(const Values& from, const Values& to)>& call) const {
  const auto sent = as_sent(from, type), received = as_sent(to, type);
  if (type != DType::f32)
    rank_state_->device().narrow(stream(), from.values, sent.data, type, sent.elements);
  run(communicator, kind, std::max(sent.bytes(), received.bytes()), work,
      [&] { call(sent, received); });
  if (type != DType::f32)
    rank_state_->device().widen(stream(), received.data, type, to.values, received.elements);
}

Values TimedCollectives::as_sent(const SentPart& part, DType type) const {
  if (type == DType::f32)
    return {part.values, part.elements};
  return {rank_state_->state->buffers().wire() + part.place * size_of(type), part.elements, type};
}

} // namespace troupe::training
