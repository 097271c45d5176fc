// COORDINATOR in asynchronous training: assigns slices to free ranks, but none of a step that
// exceeds the staleness, and has a step applied when all owners have all its gradients.
#include "actors/roles/coordinator.hpp"
#include "actors/roles/detail/step_summary.hpp"

#include <fmt/format.h>

namespace troupe::actors {

namespace {

/// The time of WorkItems.
double now() {
  return seconds(std::chrono::steady_clock::now().time_since_epoch());
}

} // namespace

void CoordinatorState::assign_work() {
  if (phase_ != Phase::training)
    return;
  if (!halts_.empty() && committed_ == granted_)
    return answer_halts();
  // Steps that have begun are finished.
  const auto limit = halts_.empty() ? std::min(pause(), committed_ + setup_.window) : granted_;
  const auto& slice_assignment = balancer_.slice_assignment();
  work_items_->grant(limit);
  for (const auto& item : work_items_->assign(now()))
    self_->send(members_.at(item.worker).worker, atom::assign_v,
                slice_assignment.pass_of(item.step) + item.slice);
  granted_ = std::max(granted_, work_items_->begun());
  assign_again();
}

/// Rounds up: a call a moment too early would find nothing to assign.
void CoordinatorState::assign_again() {
  const auto from = now();
  const auto next = work_items_->again(from);
  if (!next || std::exchange(assigns_later_, true))
    return;
  const std::chrono::duration<double> left{*next - from};
  self_->run_delayed(std::chrono::ceil<std::chrono::milliseconds>(left), [this] {
    assigns_later_ = false;
    assign_work();
  });
}

/// Ignores messages of unknown ranks: they are of no role of this generation.
bool CoordinatorState::assigns_to(std::int32_t rank) const {
  return work_items_ && is_rank(rank);
}

/// A rank that reports a slice that was not assigned to it is broken. Counting the slice would be
/// wrong.
void CoordinatorState::complete(std::int32_t rank, Pass pass) {
  if (!assigns_to(rank))
    return;
  const auto& slice_assignment = balancer_.slice_assignment();
  const data::WorkItem item{slice_assignment.step_of(pass), slice_assignment.place(pass), rank};
  if (!work_items_->has(item))
    return fail(
        {Errc::internal,
         fmt::format("the worker reported slice {} of step {}, which was not assigned to it",
                     item.slice, item.step + 1),
         {.actor = "worker", .rank = rank}});
  work_items_->complete(item, now());
  apply();
}

void CoordinatorState::propose(std::int32_t rank, std::int64_t step,
                               const training::StepResults& results) {
  if (!assigns_to(rank))
    return;
  if (const auto of_all = votes_.propose(rank, step, results))
    for (const auto& [to, member] : members_)
      self_->send(member.parameter_server(), atom::decided_v, step, *of_all);
}

/// Has the next step applied if all its slices are computed and all ranks have voted for it.
void CoordinatorState::apply() {
  const auto step = work_items_->applied();
  if (!work_items_->is_complete() || !votes_.agree(step))
    return;
  votes_.close(step);
  work_items_->apply();
  for (const auto& [rank, member] : members_)
    self_->send(member.parameter_server(), atom::advance_v, step);
}

} // namespace troupe::actors
