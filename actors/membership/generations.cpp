#include "actors/membership/generations.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

namespace {

bool joins_again(const Member& member) {
  return member.request && member.returns;
}

bool wants_change(const Member& member) {
  return member.leaves || (member.request && !member.returns);
}

} // namespace

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

void Generations::gather() {
  job_.phase = MembershipPhase::gathering;
  gathering_ = job_.now;
  job_.forms_anyway = false;
  faults_.forget_newcomers();
  if (job_.has_begun())
    form_limit_ = job_.now + job_.rules.timeouts.rejoin;
  quorum_limit_ = job_.now + job_.rules.timeouts.quorum;
}

void Generations::give_up_gathering() {
  Error error{Errc::network, fmt::format("{}; gave up after cluster.timeouts.quorum",
                                         participants_.waiting_for())};
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
  if (!participants_.has_enough() && !job_.saves())
    return;
  if ((!job_.forms_anyway && faults_.waits_for_newcomers()) || records_.is_pending())
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
    let_leave();
  for (const auto& member : participants_.members()) {
    if (member.request)
      continue; // it has joined again since
    participants_.await(member.address);
    actions_.add(action::Halt{member.id, job_.generation->number, reason});
  }
  actions_.add(action::ForgetCoordinator{}); // the reason was sent to its followers first
  gather();
}

void Generations::ask_to_halt_if_wanted() {
  const auto& members = participants_.members();
  const bool saves = handover_.is_asked();
  returns_at_.reset();
  if (job_.phase != MembershipPhase::training || job_.ended)
    return;
  if (asked_in_ == job_.generation->number && (asked_to_save_ || !saves))
    return; // COORDINATOR was asked before; it is asked again if it has to save, too
  const bool is_wanted = saves || std::ranges::any_of(members, wants_change);
  if (!is_wanted && std::ranges::none_of(members, joins_again))
    return;
  if (std::ranges::any_of(members, joins_again)) {
    if (!is_wanted && waits_for_returns())
      return;
    returned_ = job_.now;
  }
  asked_in_ = job_.generation->number;
  asked_to_save_ = saves;
  records_.begin_change();
  actions_.add(action::HaltCoordinator{job_.generation->number, saves});
}

/// Whether it is too soon after the last halt for nodes that were left out. A node whose links come
/// and go must not delay the others.
bool Generations::waits_for_returns() {
  if (!returned_ || job_.now >= *returned_ + job_.rules.between_returns)
    return false;
  returns_at_ = *returned_ + job_.rules.between_returns;
  return true;
}

void Generations::halt_as_wanted() {
  const auto& members = participants_.members();
  const auto leaver = std::ranges::find(members, true, &Member::leaves);
  halt({Errc::network, leaver == members.end()
                           ? "another node has joined"
                           : fmt::format("node {} was asked to leave", leaver->address)},
       false);
}

void Generations::dismiss(Member& member, JobEnd end) {
  end.for_all = false;
  actions_.refuse(member.request, end.error.value_or(Error{Errc::stopped, "asked to leave"}));
  actions_.add(action::Finish{member.id, std::move(end)});
  entrants_.dismiss(participants_.info(member).process);
  participants_.remove(member);
}

void Generations::let_leave() {
  auto& members = participants_.members();
  const auto leaves = [&] { return std::ranges::find(members, true, &Member::leaves); };
  for (auto member = leaves(); member != members.end(); member = leaves()) {
    dismiss(*member, {.result = {.status = "stopped"}});
    if (job_.rules.leave_one_by_one)
      return;
  }
}

void Generations::dismiss_absent() {
  for (const auto& absent : std::set{participants_.list().absent()}) {
    auto* member = participants_.find(absent);
    if (member == nullptr || participants_.leads(*member))
      continue;
    const Error error{
        Errc::network,
        fmt::format("node {} has not rejoined within cluster.timeouts.rejoin", absent),
        {.node = absent}};
    actions_.say(error.message);
    dismiss(*member, failed_end(error));
  }
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
    dismiss_absent();
}

void Generations::give_up_late() {
  if (is_due(quorum_limit_, job_.now) && job_.gathers())
    give_up_gathering();
  if (is_due(decision_limit_, job_.now) && job_.decides())
    give_up_deciding();
}

std::optional<Time> Generations::next_wake() const {
  return earlier(earlier(earlier(form_limit_, quorum_limit_), returns_at_),
                 earlier(successors_, decision_limit_));
}

WaitStatus Generations::status(Time now) const {
  if (job_.phase == MembershipPhase::connecting && receivers_ < job_.generation->lacking())
    return {fmt::format("sending the checkpoint: {} of {} nodes have it", receivers_,
                        job_.generation->lacking())};
  const auto waited = std::chrono::floor<std::chrono::milliseconds>(now - gathering_);
  return {participants_.waiting_for(), waited.count(), job_.rules.timeouts.quorum.count()};
}

} // namespace troupe::actors
