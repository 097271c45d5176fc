#include "actors/membership/generations.hpp"

#include "actors/membership/limits.hpp"

#include <fmt/format.h>

namespace troupe::actors {

void Generations::begin() {
  if (job_.rules.before)
    inherit();
  gather();
}

/// Awaits the nodes of the lost leader, although it is unknown which of them are alive. One that
/// comes later than `detection` joins like any other.
void Generations::inherit() {
  job_.generation = job_.rules.before;
  job_.inherits = true;
  job_.trained = true;
  records_.succeed(job_.rules.lost);
  for (const auto& place : job_.generation->nodes)
    if (place.address != job_.generation->leader())
      participants_.await(place.address);
  for (const auto& spare : job_.generation->spares)
    participants_.await(spare);
  successors_ = job_.now + job_.rules.timeouts.detection;
}

/// Begins to wait for nodes.
void Generations::gather() {
  job_.phase = MembershipPhase::gathering;
  gathering_ = job_.now;
  job_.forms_anyway = false;
  newcomers_.forget();
  if (job_.has_begun())
    form_limit_ = job_.now + job_.rules.timeouts.rejoin;
  quorum_limit_ = job_.now + job_.rules.timeouts.quorum;
}

void Generations::give_up_gathering() {
  Error error{Errc::network, fmt::format("{}; gave up after cluster.timeouts.quorum",
                                         participants_.capacity().waiting_for())};
  if (!job_.has_begun())
    return ending_.refuse_all(error);
  if (records_.is_pending())
    return give_up_deciding();
  if (!participants_.list().absent().empty())
    return ending_.end(failed_end(error));
  job_.ending = std::move(error);
  job_.forms_anyway = true;
}

void Generations::form_if_complete() {
  if (!job_.gathers() || participants_.members().empty())
    return;
  if (!participants_.list().absent().empty() || (!job_.forms_anyway && faults_.waits_for_links()))
    return;
  if (std::exchange(job_.inherits, false))
    participants_.fill_after_leader();
  if (!participants_.capacity().has_enough() && !job_.saves())
    return;
  if ((!job_.forms_anyway && newcomers_.are_awaited()) || records_.is_pending())
    return;
  form();
}

void Generations::form() {
  participants_.regroup();
  if (const auto proposed = records_.propose_next(); !proposed)
    return ending_.refuse_all(proposed.error());
  job_.phase = MembershipPhase::deciding;
  form_limit_.reset();
  quorum_limit_.reset();
  decision_limit_ = job_.now + job_.rules.timeouts.quorum;
  faults_.cancel();
  changed_.reset();
  if (!job_.rules.has_voters)
    begin_generation(records_.take().record);
}

void Generations::decided(const std::optional<Error>& refused) {
  if (!records_.is_pending())
    return;
  const auto [record, is_revision] = records_.take();
  if (is_revision)
    end_revision(record, !refused);
  else if (job_.decides() && refused) // the nodes gather at another node, and look for it
    ending_.refuse_all(*refused);
  else if (job_.decides())
    begin_generation(record);
}

void Generations::begin_generation(training::GenerationRecord record) {
  if (job_.has_begun() ? record.step > job_.generation->step : record.step > 0)
    faults_.forget_failures();
  job_.generation = std::move(record);
  job_.phase = MembershipPhase::connecting;
  receivers_ = 0;
  decision_limit_.reset();
  faults_.watch_connecting();
  records_.assign();
  records_.tell_waiting();
  if (changed_)
    halt(*std::exchange(changed_, std::nullopt), true);
}

void Generations::end_revision(const training::GenerationRecord& record, bool is_decided) {
  if (is_decided)
    job_.generation = record;
  else
    records_.refuse_revision(record);
  if (record.end)
    return ending_.tell_decided();
  if (!is_decided || job_.ended)
    return;
  records_.tell_members();
  records_.tell_waiting();
}

void Generations::give_up_deciding() {
  const auto& voters = job_.generation.value_or(training::GenerationRecord{}).voters;
  Error error{
      Errc::network,
      fmt::format(
          "fewer than a quorum of the {} voters were present within cluster.timeouts.quorum",
          voters.size())};
  actions_.say(error.message);
  ending_.tell(failed_end(std::move(error)));
}

/// Ends the generation: all its nodes request an assignment in the next.
void Generations::halt(const Error& reason, bool is_loss,
                       std::chrono::milliseconds detected_after) {
  if (is_loss)
    records_.note_loss(reason.message, detected_after);
  if (job_.phase == MembershipPhase::gathering)
    return;
  if (job_.phase == MembershipPhase::deciding) {
    changed_ = reason;
    return;
  }
  if (!is_loss)
    records_.note_change(reason.message);
  if (!is_loss || !job_.rules.leave_one_by_one)
    departures_.let_leave();
  for (const auto& member : participants_.members()) {
    if (member.request)
      continue; // it has joined again since
    participants_.await(member.address);
    actions_.add(action::Halt{member.id, job_.generation->number, reason});
  }
  actions_.add(action::ForgetCoordinator{}); // the reason was sent to its followers first
  gather();
}

void Generations::note_loss(const std::string& address, const Error& reason) {
  if (records_.proposes(address))
    changed_ = reason;
}

void Generations::begin_training() {
  job_.phase = MembershipPhase::training;
  job_.trained = true;
  if (job_.ending)
    actions_.add(action::StopCoordinator{*job_.ending});
  if (job_.stopping)
    actions_.add(action::StopCoordinator{});
}

void Generations::wake() {
  if (is_due(successors_, job_.now) && job_.inherits && !job_.ended)
    participants_.stop_waiting_for_strangers();
  if (is_due(form_limit_, job_.now) && job_.gathers())
    departures_.dismiss_absent();
}

void Generations::give_up_late() {
  if (is_due(quorum_limit_, job_.now) && job_.gathers())
    give_up_gathering();
  if (is_due(decision_limit_, job_.now) && job_.decides())
    give_up_deciding();
}

std::optional<Time> Generations::next_wake() const {
  return earlier(earlier(form_limit_, quorum_limit_), earlier(successors_, decision_limit_));
}

WaitStatus Generations::status(Time now) const {
  if (job_.phase == MembershipPhase::connecting && receivers_ < job_.generation->lacking())
    return {fmt::format("sending the checkpoint: {} of {} nodes have it", receivers_,
                        job_.generation->lacking())};
  const auto waited = std::chrono::floor<std::chrono::milliseconds>(now - gathering_);
  return {participants_.capacity().waiting_for(), waited.count(),
          job_.rules.timeouts.quorum.count()};
}

} // namespace troupe::actors
