// Of COORDINATOR, what it does where ranks train asynchronously: it deals slices to whoever comes
// free, none of a step that the staleness does not allow yet, and has a step applied when all
// owners have all of its gradients.
#include "actors/roles/coordinator.hpp"

#include <fmt/format.h>

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

/// A message of an unknown rank is ignored: it is of no role of this generation.
bool CoordinatorState::leases_to(std::int32_t rank) const {
  return leases_ && is_rank(rank);
}

void CoordinatorState::want(std::int32_t rank) {
  if (!leases_to(rank))
    return;
  leases_->want(rank);
  lease();
}

/// A rank that reports what it was not given is broken: counting the slice would be wrong.
void CoordinatorState::come(std::int32_t rank, Pass pass, const WorkerStep& measured) {
  if (!leases_to(rank))
    return;
  const auto& dealing = dealer_.dealing();
  const data::Lease lease{dealing.step_of(pass), dealing.place(pass)};
  if (!leases_->has(rank, lease))
    return fail({Errc::internal,
                 fmt::format("it reported slice {} of step {}, which it had not been given",
                             lease.slice, lease.step + 1),
                 {.actor = "worker", .rank = rank}});
  leases_->come(rank, lease, measured, Clock::now());
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
