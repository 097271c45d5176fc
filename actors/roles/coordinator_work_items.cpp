// COORDINATOR in asynchronous training: assigns slices to free ranks, but none of a step that
// exceeds the staleness, and has a step applied when all owners have all its gradients.
#include "actors/roles/coordinator.hpp"

#include <fmt/format.h>

namespace troupe::actors {

void CoordinatorState::assign_work() {
  if (phase_ != Phase::training)
    return;
  if (!halts_.empty() && committed_ == granted_)
    return answer_halts();
  // Steps that have begun are finished.
  const auto limit = halts_.empty() ? std::min(pause(), committed_ + setup_.window) : granted_;
  const auto& slice_assignment = balancer_.slice_assignment();
  for (const auto& [rank, item] : work_items_->assign(limit, Clock::now()))
    self_->send(members_.at(rank).worker, atom::assign_v,
                slice_assignment.pass_of(item.step) + item.slice);
  granted_ = std::max(granted_, work_items_->begun());
  assign_again();
}

void CoordinatorState::assign_again() {
  const auto now = Clock::now();
  const auto next = work_items_->again(now);
  if (!next || std::exchange(assigns_later_, true))
    return;
  self_->run_delayed(*next - now, [this] {
    assigns_later_ = false;
    assign_work();
  });
}

/// Ignores messages of unknown ranks: they are of no role of this generation.
bool CoordinatorState::assigns_to(std::int32_t rank) const {
  return work_items_ && is_rank(rank);
}

void CoordinatorState::want(std::int32_t rank) {
  if (!assigns_to(rank))
    return;
  work_items_->want(rank);
  assign_work();
}

/// A rank that reports a slice that was not assigned to it is broken. Counting the slice would be
/// wrong.
void CoordinatorState::complete(std::int32_t rank, Pass pass, const WorkerStep& measured) {
  if (!assigns_to(rank))
    return;
  const auto& slice_assignment = balancer_.slice_assignment();
  const data::WorkItem item{slice_assignment.step_of(pass), slice_assignment.place(pass)};
  if (!work_items_->has(rank, item))
    return fail(
        {Errc::internal,
         fmt::format("the worker reported slice {} of step {}, which was not assigned to it",
                     item.slice, item.step + 1),
         {.actor = "worker", .rank = rank}});
  work_items_->complete(rank, item, measured, Clock::now());
  apply();
}

void CoordinatorState::find(const StepFound& by_rank) {
  if (const auto of_all = work_items_->found(by_rank))
    for (const auto& [rank, member] : members_)
      self_->send(member.shard_manager, atom::decided_v, *of_all);
}

void CoordinatorState::apply() {
  if (const auto step = work_items_->next_applied())
    for (const auto& [rank, member] : members_)
      self_->send(member.shard_manager, atom::advance_v, *step);
}

void CoordinatorState::add_work_items(std::int64_t step, const std::vector<StepReport>& reports,
                                      metrics::StepRecord& record) {
  record.item_seconds = work_items_->longest_item(step);
  if (setup_.records_reads)
    for (const auto& report : reports)
      record.reads.push_back(report.reads);
}

} // namespace troupe::actors
