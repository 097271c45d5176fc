// COORDINATOR in asynchronous training: assigns slices to free ranks, but none of a step that
// exceeds the staleness, and has a step applied when all owners have all its gradients.
#include "actors/roles/coordinator.hpp"

#include <fmt/format.h>

namespace troupe::actors {

void CoordinatorState::assign_work() {
  if (phase_ != Phase::training)
    return;
  if (!halts_.promises.empty() && steps_.committed == steps_.granted)
    return answer_halts();
  // Steps that have begun are finished.
  const auto limit = halts_.promises.empty()
                         ? std::min(steps_.pause(balancer_), steps_.committed + setup_.window)
                         : steps_.granted;
  const auto& slice_assignment = balancer_.slice_assignment();
  async_->items.grant(limit);
  for (const auto& item : async_->items.assign(AsyncSteps::now()))
    self_->send(ranks_.all.at(item.worker).worker, atom::assign_v,
                slice_assignment.pass_of(item.step) + item.slice);
  steps_.grant(async_->items.begun());
  assign_again();
}

/// Rounds up: a call a moment too early would find nothing to assign.
void CoordinatorState::assign_again() {
  const auto from = AsyncSteps::now();
  const auto next = async_->items.again(from);
  if (!next || std::exchange(async_->assigns_later, true))
    return;
  const std::chrono::duration<double> left{*next - from};
  self_->run_delayed(std::chrono::ceil<std::chrono::milliseconds>(left), [this] {
    async_->assigns_later = false;
    assign_work();
  });
}

/// Ignores messages of unknown ranks: they are of no role of this generation.
bool CoordinatorState::assigns_to(std::int32_t rank) const {
  return async_ && setup_.generation.has(rank);
}

/// A rank that reports a slice that was not assigned to it is broken. Counting the slice would be
/// wrong.
void CoordinatorState::complete(std::int32_t rank, Pass pass) {
  if (!assigns_to(rank))
    return;
  const auto& slice_assignment = balancer_.slice_assignment();
  const data::WorkItem item{slice_assignment.step_of(pass), slice_assignment.place(pass), rank};
  if (!async_->items.has(item))
    return fail(
        {Errc::internal,
         fmt::format("the worker reported slice {} of step {}, which was not assigned to it",
                     item.slice, item.step + 1),
         {.actor = "worker", .rank = rank}});
  async_->items.complete(item, AsyncSteps::now());
  apply();
}

/// Has the next step applied if all its slices are computed and all ranks have voted for it.
void CoordinatorState::apply() {
  const auto step = async_->items.applied();
  if (!async_->items.is_complete() || !async_->votes.agree(step))
    return;
  async_->votes.close(step);
  async_->items.apply();
  for (const auto& [number, rank] : ranks_.all)
    self_->send(rank.parameter_server(), atom::advance_v, step);
}

} // namespace troupe::actors
