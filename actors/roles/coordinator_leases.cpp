// Of COORDINATOR, what it does where ranks train asynchronously: it deals slices to whoever comes
// free, none of a step that the staleness does not allow yet, and has a step applied when all
// owners have all of its gradients.
#include "coordinator.hpp"

namespace troupe::actors {

void CoordinatorState::lease() {
  if (phase_ != Phase::training)
    return;
  if (!halts_.empty() && committed_ == granted_)
    return answer_halts();
  // What was begun is finished, in any case.
  const auto limit = halts_.empty() ? std::min(pause(), committed_ + setup_.window) : granted_;
  const auto& dealing = dealer_.dealing();
  for (const auto& [rank, lease] : leases_->deal(limit, Clock::now()))
    self_->send(members_.at(rank).worker, atom::deal_v, dealing.pass_of(lease.step) + lease.slice);
  granted_ = std::max(granted_, leases_->begun());
  lease_again();
}

void CoordinatorState::lease_again() {
  const auto now = Clock::now();
  const auto next = leases_->again(now);
  if (!next || std::exchange(leases_later_, true))
    return;
  self_->run_delayed(*next - now, [this] {
    leases_later_ = false;
    lease();
  });
}

void CoordinatorState::come(std::int32_t rank, Pass pass, const WorkerStep& measured) {
  const auto& dealing = dealer_.dealing();
  leases_->come(rank, {dealing.step_of(pass), dealing.place(pass)}, measured, Clock::now());
  apply();
}

void CoordinatorState::find(const StepFound& by_rank) {
  if (const auto of_all = leases_->found(by_rank))
    for (const auto& [rank, member] : members_)
      self_->send(member.shard_manager, atom::decided_v, *of_all);
}

void CoordinatorState::apply() {
  if (const auto step = leases_->next_applied())
    for (const auto& [rank, member] : members_)
      self_->send(member.shard_manager, atom::advance_v, *step);
}

void CoordinatorState::add_leases(std::int64_t step, const std::vector<StepReport>& reports,
                                  metrics::StepRecord& record) {
  record.lease_seconds = leases_->longest_lease(step);
  if (setup_.records_reads)
    for (const auto& report : reports)
      record.reads.push_back(report.reads);
}

} // namespace troupe::actors
