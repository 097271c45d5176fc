#include "actors/membership/membership.hpp"

#include "actors/membership/entry_checks.hpp"

#include <fmt/format.h>

namespace troupe::actors {

Membership::Membership(MembershipRules rules, Time now) : job_{std::move(rules), now} {
  if (job_.rules.before)
    inherit();
  gather();
}

template <class Handler>
void Membership::handle(Time now, Handler handler) {
  job_.now = now;
  handler();
  settle();
}

/// Does all that has become possible.
void Membership::settle() {
  do {
    while (const auto outcome = probes_.take_finished())
      conclude(*outcome);
    entrants_.prove_next();
    if (job_.gathers()) // nothing is trained, so no node halts for those that wait to be stable
      for (const auto node : entrants_.proven())
        admit_entrant(node);
    form_if_complete();
    records_.revise(ending_.deciding());
    changes_.ask_if_wanted();
  } while (probes_.has_finished() || (job_.gathers() && !entrants_.proven().empty()));
}

void Membership::join(RequestId request, NodeId node, const NodeInfo& info, Time now) {
  handle(now, [&] { admit({info, {.id = node, .address = info.address, .request = request}}); });
}

void Membership::admit(Spare node) {
  const auto info = node.info;
  if (entrants_.is_replay(info))
    return actions_.refuse(node.member.request, replaced_by_later());
  const auto* known = find_known(node.member.id);
  if (known == nullptr)
    if (const auto differs = EntryChecks{job_, participants_}.leader_is_behind(info)) {
      participants_.refuse_leader(*differs);
      refuse_all({Errc::network,
                  differs->message,
                  {.node = participants_.list().nodes().front().address}});
    }
  if (const auto admitted = entrants_.check(info, known); !admitted)
    return entrants_.refuse_request(node, admitted.error());
  entrants_.note_attempt(info);
  if (known == nullptr && entrants_.needs_proof(info))
    return entrants_.add(std::move(node));
  if (known == nullptr)
    return enter(std::move(node));
  entrants_.ask_again(node);
  participants_.ask_again(node);
  participants_.say_missing();
}

const Member* Membership::find_known(NodeId node) const {
  if (const auto* member = participants_.find(node))
    return member;
  if (const auto* waiting = participants_.find_waiting(node))
    return &waiting->member;
  return entrants_.find_member(node);
}

void Membership::enter(Spare node) {
  node.member.returns = entrants_.returns(node.info.process);
  participants_.take_in(std::move(node));
  if (job_.inherits && participants_.members().size() == 1) // others are compared with this one
    actions_.add(action::Announce{});
  participants_.say_missing();
}

/// Checks an entrant again, because nodes may have joined and left meanwhile, and admits it.
void Membership::admit_entrant(NodeId node) {
  auto entrant = *entrants_.take(node);
  if (const auto checked = entrants_.check(entrant.info, nullptr); !checked)
    return entrants_.refuse(std::move(entrant), checked.error());
  enter(std::move(entrant));
}

void Membership::probed(std::int64_t probe, NodeId node,
                        const std::optional<std::vector<BrokenLink>>& broken, Time now) {
  handle(now, [&] { probes_.note(probe, node, broken); });
}

void Membership::conclude(const Probes::Outcome& outcome) {
  if (entrants_.is_proof(outcome.probe)) {
    if (const auto proven = entrants_.end_proof(outcome))
      admit_entrant(*proven);
  } else if (const auto evidence = faults_.end(outcome)) {
    if (departures_.leave_out(*evidence))
      return quit();
    participants_.say_missing();
  } else if (const auto silent = entrants_.end_question(outcome)) {
    departures_.leave_behind(*silent);
  } else if (outcome.probe == connection_probe_ && job_.phase == MembershipPhase::connecting) {
    if (outcome.broken.empty())
      limits_.connection = job_.now + job_.rules.form;
    else if (!job_.ended)
      suspect({{Errc::network, describe_links(outcome.broken.front().to, outcome.broken)}});
  }
}

void Membership::withdraw(NodeId node, Time now) {
  handle(now, [&] { drop(node); });
}

/// Drops a node that no longer waits for its assignment.
void Membership::drop(NodeId node) {
  constexpr const char* why = "it no longer waits for its assignment";
  if (auto waiting = departures_.take_waiting(node))
    return actions_.refuse(waiting->member.request, {Errc::stopped, why});
  if (auto* member = participants_.find(node); member && !job_.ended && !ending_.is_unstarted())
    member_gone(*member, why, {});
}

void Membership::wake(Time now) {
  handle(now, [&] {
    for (const auto node : departures_.refuse_late())
      drop(node);
    entrants_.wake();
    ending_.wake();
    if (is_due(limits_.successors, now) && job_.inherits && !job_.ended)
      participants_.stop_waiting_for_strangers();
    if (is_due(limits_.form, now) && job_.gathers())
      departures_.dismiss_absent();
    if (is_due(limits_.connection, now) && job_.phase == MembershipPhase::connecting &&
        !job_.ended && participants_.members().size() > 1)
      connection_probe_ = probes_.of_all(participants_.link_ends());
    if (is_due(limits_.decision, now) && job_.phase == MembershipPhase::deciding && !job_.ended)
      give_up_deciding();
    if (is_due(limits_.quorum, now) && job_.gathers())
      give_up_gathering();
  });
}

std::optional<Time> Membership::next_wake() const {
  std::optional<Time> next;
  for (const auto& limit : {limits_.form, limits_.quorum, limits_.successors, limits_.decision,
                            limits_.connection, participants_.next_limit(), entrants_.next_wake(),
                            changes_.next_wake(), ending_.next_wake()})
    next = earlier(next, limit);
  return next;
}

WaitStatus Membership::status(NodeId node, Time now) const {
  if (const auto* waiting = participants_.find_waiting(node))
    return {participants_.why_it_waits(*waiting)};
  if (entrants_.find_member(node) != nullptr)
    return {"waiting until the other nodes have checked their connections to this node"};
  if (job_.phase == MembershipPhase::connecting && receivers_ < job_.generation->lacking())
    return {fmt::format("sending the checkpoint: {} of {} nodes have it", receivers_,
                        job_.generation->lacking())};
  const auto waited = std::chrono::floor<std::chrono::milliseconds>(now - gathering_);
  return {participants_.capacity().waiting_for(), waited.count(), job_.rules.quorum.count()};
}

bool Membership::knows(NodeId node) const {
  return find_known(node) != nullptr || entrants_.has_left_out(node);
}

/// Awaits the nodes of the lost leader, although it is unknown which of them are alive. One that
/// comes later than `detection` joins like any other.
void Membership::inherit() {
  job_.generation = job_.rules.before;
  job_.inherits = true;
  job_.trained = true;
  records_.succeed(job_.rules.lost);
  for (const auto& place : job_.generation->nodes)
    if (place.address != job_.generation->leader())
      participants_.await(place.address);
  for (const auto& spare : job_.generation->spares)
    participants_.await(spare);
  limits_.successors = job_.now + job_.rules.detection;
}

/// Begins to wait for nodes.
void Membership::gather() {
  job_.phase = MembershipPhase::gathering;
  gathering_ = job_.now;
  job_.forms_anyway = false;
  entrants_.forget_questions();
  if (job_.has_begun())
    limits_.form = job_.now + job_.rules.form;
  limits_.quorum = job_.now + job_.rules.quorum;
}

void Membership::give_up_gathering() {
  Error error{Errc::network, fmt::format("{}; gave up after cluster.timeouts.quorum",
                                         participants_.capacity().waiting_for())};
  if (!job_.has_begun())
    return refuse_all(error);
  if (records_.is_pending())
    return give_up_deciding();
  if (!participants_.list().absent().empty())
    return ending_.end(failed_end(error));
  job_.ending = std::move(error);
  job_.forms_anyway = true;
}

void Membership::form_if_complete() {
  if (!job_.gathers() || participants_.members().empty())
    return;
  handover_.check();
  if (!participants_.list().absent().empty() || (!job_.forms_anyway && faults_.waits_for_links()))
    return;
  if (std::exchange(job_.inherits, false))
    participants_.fill_after_leader();
  if (!participants_.capacity().has_enough() && !job_.saves())
    return;
  if ((!job_.forms_anyway && entrants_.waits_for_newcomers()) || records_.is_pending())
    return;
  form();
}

void Membership::form() {
  participants_.regroup();
  if (const auto proposed = records_.propose_next(); !proposed)
    return refuse_all(proposed.error());
  job_.phase = MembershipPhase::deciding;
  limits_.form.reset();
  limits_.quorum.reset();
  limits_.decision = job_.now + job_.rules.quorum;
  faults_.cancel();
  changed_.reset();
  if (!job_.rules.has_voters)
    begin_generation(records_.take().record);
}

void Membership::decided(const std::optional<Error>& refused, Time now) {
  handle(now, [&] {
    if (!records_.is_pending())
      return;
    const auto [record, is_revision] = records_.take();
    const bool is_awaited = job_.phase == MembershipPhase::deciding && !job_.ended && !job_.closed;
    if (is_revision)
      end_revision(record, !refused);
    else if (is_awaited && refused) // the nodes gather at another node, and look for it
      refuse_all(*refused);
    else if (is_awaited)
      begin_generation(record);
  });
}

void Membership::begin_generation(training::GenerationRecord record) {
  if (job_.has_begun() ? record.step > job_.generation->step : record.step > 0)
    faults_.forget_failures();
  job_.generation = std::move(record);
  job_.phase = MembershipPhase::connecting;
  receivers_ = 0;
  connection_probe_ = 0;
  changes_.begin_generation();
  limits_.decision.reset();
  limits_.connection = job_.now + job_.rules.form;
  records_.assign();
  records_.tell_waiting();
  if (changed_)
    halt(*std::exchange(changed_, std::nullopt), true);
}

void Membership::end_revision(const training::GenerationRecord& record, bool is_decided) {
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

void Membership::give_up_deciding() {
  const auto& voters = job_.generation.value_or(training::GenerationRecord{}).voters;
  Error error{
      Errc::network,
      fmt::format(
          "fewer than a quorum of the {} voters were present within cluster.timeouts.quorum",
          voters.size())};
  actions_.say(error.message);
  ending_.tell(failed_end(std::move(error)));
}

void Membership::refuse_all(const Error& error) {
  job_.closed = error;
  handover_.refuse(error);
  participants_.refuse_all(error);
  entrants_.refuse_all(error);
}

/// Ends the generation: all its nodes request an assignment in the next.
void Membership::halt(const Error& reason, bool is_loss, std::chrono::milliseconds detected_after) {
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

bool Membership::begin_training(Time now) {
  if (job_.phase != MembershipPhase::connecting)
    return false;
  handle(now, [&] {
    job_.phase = MembershipPhase::training;
    job_.trained = true;
    if (job_.ending)
      actions_.add(action::StopCoordinator{*job_.ending});
    if (job_.stopping)
      actions_.add(action::StopCoordinator{});
  });
  return true;
}

/// If the leader is to leave, ends this Membership; its loss tells the others. All steps that have
/// begun are saved, because the next leader may leave at the same moment.
void Membership::coordinator_halted(std::int64_t generation, Time now) {
  handle(now, [&] {
    if (job_.phase != MembershipPhase::training || job_.ended ||
        job_.generation->number != generation)
      return;
    if (!handover_.is_asked())
      return halt(changes_.wanted(), false);
    if (const auto lacks = handover_.lacks(); !lacks.empty()) { // this has changed meanwhile
      handover_.keep_leader(lacks);
      return halt({Errc::network, "no other node can lead the job any more"}, false);
    }
    handover_.grant();
    quit();
  });
}

void Membership::node_down(NodeId node, const std::string& why,
                           std::chrono::milliseconds detected_after, Time now) {
  handle(now, [&] {
    ending_.heard(node);
    if (departures_.lose_waiting(node))
      return;
    auto* member = participants_.find(node);
    if (member == nullptr)
      return;
    if (job_.ended || ending_.is_unstarted()) // the node knows why it ends
      departures_.lose(*member, {Errc::network, why});
    else
      member_gone(*member, why, detected_after);
  });
}

void Membership::member_gone(Member& member, const std::string& why,
                             std::chrono::milliseconds detected_after) {
  const bool had_place = job_.place_of(member.address) != nullptr;
  const auto error = departures_.loss_of(member, why);
  if (records_.proposes(member.address))
    changed_ = error;
  if (job_.has_begun())
    actions_.say(error.message);
  departures_.lose(member, error);
  if (!job_.has_begun())
    return actions_.say(participants_.capacity().waiting_for());
  if (!had_place)
    return; // it had no ranks yet
  faults_.forget_failures();
  halt(error, true, detected_after);
}

void Membership::failed(RequestId request, std::int64_t generation, const SharedFailure& failure,
                        Time now) {
  handle(now, [&] {
    const auto last = job_.has_begun() ? job_.generation->number : 0;
    const bool is_earlier = generation > 0 && generation < last;
    const bool is_halted =
        generation == last && job_.has_begun() &&
        (job_.phase == MembershipPhase::gathering || job_.phase == MembershipPhase::deciding);
    if (job_.ended || is_earlier)
      actions_.add(action::Answer{request});
    else if (is_halted ? !ending_.is_due_after(failure.error) : continues_after(failure))
      actions_.add(action::Answer{request});
    else if (job_.phase == MembershipPhase::training) // COORDINATOR ends the job
      actions_.add(action::Answer{request, failure.error});
    else
      ending_.fail(failure.error, request);
  });
}

/// Continues without a node that has failed. After a failure between nodes they find out together
/// which one is at fault; if they find none, all try again, but only a few times.
bool Membership::continues_after(const SharedFailure& failure) {
  if (!job_.has_begun())
    return false;
  if (!is_between_nodes(failure.error.code))
    return continues_without(failure.error);
  if (!faults_.may_try_again())
    return false;
  suspect(failure);
  return true;
}

void Membership::suspect(const SharedFailure& failure) {
  faults_.begin(failure);
  halt(failure.error, true);
}

bool Membership::continues_without(const Error& error) {
  const bool begins = job_.generation->is_first() && job_.phase == MembershipPhase::connecting;
  auto* member = participants_.find(error.where.node);
  const bool is_leader = member != nullptr && participants_.leads(*member);
  if (member == nullptr || (begins && error.code == Errc::stopped) ||
      (is_leader && !handover_.is_possible_after(error)))
    return false;
  actions_.say(error.to_string());
  if (is_leader) {
    auto end = failed_end(error);
    end.for_all = false;
    actions_.add(action::Finish{member->id, std::move(end)});
    quit(); // like a leader that leaves, except that steps in flight are lost
  } else {
    departures_.dismiss(*member, failed_end(error));
    halt(error, true);
  }
  return true;
}

void Membership::leave(RequestId request, NodeId node, bool waits, Time now) {
  handle(now, [&] {
    auto waiting = departures_.take_waiting(node);
    auto* member = participants_.find(node);
    if (member != nullptr && participants_.leads(*member))
      return handover_.ask(request, waits);
    actions_.add(action::Answer{request});
    if (waiting)
      actions_.refuse(waiting->member.request, asked_to_leave());
    else if (member != nullptr) // else the others continue without it already
      let_leave(*member);
  });
}

/// A member leaves at once if nothing is trained, else when all halt.
void Membership::let_leave(Member& member) {
  member.leaves = true;
  if (job_.phase == MembershipPhase::gathering && !job_.rules.leave_one_by_one)
    return departures_.let_leave();
  if (job_.phase != MembershipPhase::connecting)
    return;
  // It may wait for the ranks of others.
  actions_.add(action::Abort{member.id, job_.generation->number, asked_to_leave()});
  records_.begin_change();
  halt(changes_.wanted(), false);
}

void Membership::stop(Time now) {
  handle(now, [&] {
    job_.stopping = true;
    if (job_.phase == MembershipPhase::training)
      actions_.add(action::StopCoordinator{});
    else if (!job_.has_begun())
      refuse_all({Errc::stopped, "asked to stop before all nodes had joined"});
    else if (job_.phase == MembershipPhase::connecting && job_.generation->is_first() &&
             participants_.members().size() > 1)
      ending_.cancel_connecting({Errc::stopped, "asked to stop before all nodes were connected"});
  });
}

void Membership::finish(RequestId request, const JobEnd& end, Time now) {
  handle(now, [&] { ending_.end(end, request); });
}

void Membership::heard_end(NodeId node, Time now) {
  handle(now, [&] { ending_.heard(node); });
}

/// Another node leads from now on.
void Membership::quit() {
  job_.ended = true;
  actions_.add(action::Quit{});
}

} // namespace troupe::actors
