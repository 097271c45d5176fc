// Of COORDINATOR, what it does where ranks train asynchronously: it deals slices to whoever comes
// free, none of a step that the staleness does not allow yet, and has a step applied when all
// owners have all of its gradients.
#include "actors/roles/coordinator.hpp"

#include <fmt/format.h>

namespace troupe::actors {

void CoordinatorState::assign_work() {
  if (phase_ != Phase::training)
    return;
  if (!halts_.empty() && committed_ == granted_)
    return answer_halts();
  // What was begun is finished, in any case.
  const auto limit = halts_.empty() ? std::min(pause(), committed_ + setup_.window) : granted_;
  const auto& slice_assignment = balancer_.slice_assignment();
  for (const auto& [rank, item] : work_items_->deal(limit, Clock::now()))
    self_->send(members_.at(rank).worker, atom::deal_v,
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

/// A message of an unknown rank is ignored: it is of no role of this generation.
bool CoordinatorState::assigns_to(std::int32_t rank) const {
  return work_items_ && is_rank(rank);
}

void CoordinatorState::want(std::int32_t rank) {
  if (!assigns_to(rank))
    return;
  work_items_->want(rank);
  assign_work();
}

/// A rank that reports what it was not given is broken: counting the slice would be wrong.
void CoordinatorState::come(std::int32_t rank, Pass pass, const WorkerStep& measured) {
  if (!assigns_to(rank))
    return;
  const auto& slice_assignment = balancer_.slice_assignment();
  const data::WorkItem item{slice_assignment.step_of(pass), slice_assignment.place(pass)};
  if (!work_items_->has(rank, item))
    return fail({Errc::internal,
                 fmt::format("it reported slice {} of step {}, which it had not been given",
                             item.slice, item.step + 1),
                 {.actor = "worker", .rank = rank}});
  work_items_->come(rank, item, measured, Clock::now());
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
