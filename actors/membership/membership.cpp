#include "actors/membership/membership.hpp"

#include "actors/membership/entry_checks.hpp"
#include "actors/membership/limits.hpp"

#include <fmt/format.h>

namespace troupe::actors {

Membership::Membership(MembershipRules rules, Time now) : job_{std::move(rules), now} {
  generations_.begin();
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
    handover_.check();
    generations_.form_if_complete();
    records_.revise(ending_.deciding());
    changes_.ask_if_wanted();
  } while (probes_.has_finished() || (job_.gathers() && !entrants_.proven().empty()));
}

void Membership::join(RequestId request, NodeId node, const NodeInfo& info, Time now) {
  handle(now, [&] { admit({info, {.id = node, .address = info.address, .request = request}}); });
}

void Membership::admit(Spare node) {
  const auto info = node.info;
  if (history_.is_replay(info))
    return actions_.refuse(node.member.request, replaced_by_later());
  const auto* known = find_known(node.member.id);
  if (known == nullptr)
    if (const auto differs = EntryChecks{job_, participants_}.leader_is_behind(info)) {
      participants_.refuse_leader(*differs);
      ending_.refuse_all({Errc::network,
                          differs->message,
                          {.node = participants_.list().nodes().front().address}});
    }
  if (const auto admitted = entrants_.check(info, known); !admitted)
    return entrants_.refuse_request(node, admitted.error());
  history_.note_attempt(info);
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
  node.member.returns = history_.returns(node.info.process);
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
      return ending_.quit();
    participants_.say_missing();
  } else if (const auto silent = newcomers_.end(outcome)) {
    departures_.leave_behind(*silent);
  } else if (const auto failure = faults_.end_watch(outcome)) {
    failures_.suspect(*failure);
  }
}

void Membership::withdraw(NodeId node, Time now) {
  handle(now, [&] { failures_.drop(node); });
}

void Membership::wake(Time now) {
  handle(now, [&] {
    failures_.refuse_late();
    entrants_.wake();
    ending_.wake();
    faults_.wake();
    generations_.wake();
  });
  // Nodes that have not come again in time are dismissed by now, so the others may be complete.
  handle(now, [&] { generations_.give_up_late(); });
}

std::optional<Time> Membership::next_wake() const {
  std::optional<Time> next;
  for (const auto& wake :
       {generations_.next_wake(), participants_.next_limit(), entrants_.next_wake(),
        faults_.next_wake(), changes_.next_wake(), ending_.next_wake()})
    next = earlier(next, wake);
  return next;
}

WaitStatus Membership::status(NodeId node, Time now) const {
  if (const auto* waiting = participants_.find_waiting(node))
    return {participants_.why_it_waits(*waiting)};
  if (entrants_.find_member(node) != nullptr)
    return {"waiting until the other nodes have checked their connections to this node"};
  return generations_.status(now);
}

bool Membership::knows(NodeId node) const {
  return find_known(node) != nullptr || history_.has_left_out(node);
}

void Membership::decided(const std::optional<Error>& refused, Time now) {
  handle(now, [&] { generations_.decided(refused); });
}

bool Membership::begin_training(Time now) {
  if (job_.phase != MembershipPhase::connecting)
    return false;
  handle(now, [&] { generations_.begin_training(); });
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
      return generations_.halt(changes_.wanted(), false);
    if (const auto lacks = handover_.lacks(); !lacks.empty()) { // this has changed meanwhile
      handover_.keep_leader(lacks);
      return generations_.halt({Errc::network, "no other node can lead the job any more"}, false);
    }
    handover_.grant();
    ending_.quit();
  });
}

void Membership::node_down(NodeId node, const std::string& why,
                           std::chrono::milliseconds detected_after, Time now) {
  handle(now, [&] { failures_.node_down(node, why, detected_after); });
}

void Membership::failed(RequestId request, std::int64_t generation, const SharedFailure& failure,
                        Time now) {
  handle(now, [&] { failures_.report(request, generation, failure); });
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
  generations_.halt(changes_.wanted(), false);
}

void Membership::stop(Time now) {
  handle(now, [&] {
    job_.stopping = true;
    if (job_.phase == MembershipPhase::training)
      actions_.add(action::StopCoordinator{});
    else if (!job_.has_begun())
      ending_.refuse_all({Errc::stopped, "asked to stop before all nodes had joined"});
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

} // namespace troupe::actors
