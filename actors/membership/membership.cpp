#include "actors/membership/membership.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

namespace {

std::string ranks(const training::MemberInfo& place) {
  const auto last = place.first_rank + place.workers - 1;
  return place.workers == 1 ? fmt::format("rank {}", last)
                            : fmt::format("ranks {} to {}", place.first_rank, last);
}

/// Describes the loss of a member.
Error loss_of(const JobState& job, const std::string& node, const std::string& why) {
  const auto* place = job.place_of(node);
  const auto name = place == nullptr ? node : fmt::format("{} ({})", node, ranks(*place));
  return {Errc::network, fmt::format("node {} was lost: {}", name, why), {.node = node}};
}

} // namespace

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
    generations_.ask_to_halt_if_wanted();
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
    if (const auto differs = entrants_.leader_is_behind(info)) {
      actions_.refuse(participants_.members().front().request, *differs);
      ending_.refuse_all({Errc::network,
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
    if (leave_out(*evidence))
      return ending_.quit();
    participants_.say_missing();
  } else if (const auto silent = faults_.end_question(outcome)) {
    leave_behind(*silent);
  } else if (const auto failure = faults_.end_watch(outcome)) {
    suspect(*failure);
  }
}

void Membership::withdraw(NodeId node, Time now) {
  handle(now, [&] { drop(node); });
}

void Membership::wake(Time now) {
  handle(now, [&] {
    refuse_late();
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
  for (const auto& wake : {generations_.next_wake(), participants_.next_limit(),
                           entrants_.next_wake(), faults_.next_wake(), ending_.next_wake()})
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
  const auto is_it = [&](const auto& left_out) { return left_out.second == node; };
  return find_known(node) != nullptr || std::ranges::any_of(entrants_.left_out(), is_it);
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
      return generations_.halt_as_wanted();
    if (const auto lacks = handover_.lacks(); !lacks.empty()) { // this has changed meanwhile
      handover_.keep_leader(lacks);
      return generations_.halt({Errc::network, "no other node can lead the job any more"}, false);
    }
    handover_.answer({});
    ending_.quit();
  });
}

void Membership::leave(RequestId request, NodeId node, bool waits, Time now) {
  handle(now, [&] {
    auto waiting = take_waiting(node);
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
    return generations_.let_leave();
  if (job_.phase != MembershipPhase::connecting)
    return;
  // It may wait for the ranks of others.
  actions_.add(action::Abort{member.id, job_.generation->number, asked_to_leave()});
  records_.begin_change();
  generations_.halt_as_wanted();
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

void Membership::node_down(NodeId node, const std::string& why,
                           std::chrono::milliseconds detected_after, Time now) {
  handle(now, [&] {
    ending_.heard(node);
    if (lose_waiting(node))
      return;
    auto* member = participants_.find(node);
    if (member == nullptr)
      return;
    if (job_.ended || ending_.is_unstarted()) // the node knows why it ends
      lose(*member, {Errc::network, why});
    else
      member_gone(*member, why, detected_after);
  });
}

/// Removes a spare, a witness or an entrant, whose request stays pending; none: it is none.
std::optional<Spare> Membership::take_waiting(NodeId node) {
  auto waiting = participants_.take_waiting(node);
  return waiting ? std::move(waiting) : entrants_.take(node);
}

/// The same for one that is lost, which is logged. Returns false if it is none.
bool Membership::lose_waiting(NodeId node) {
  const bool is_entrant = entrants_.find_member(node) != nullptr;
  auto lost = take_waiting(node);
  if (!lost)
    return false;
  const auto* kind = is_entrant ? "joining node" : lost->info.workers == 0 ? "witness" : "spare";
  const auto line = fmt::format("node {}, a {}, was lost", lost->info.address, kind);
  actions_.say(line);
  actions_.refuse(lost->member.request, {Errc::network, line});
  if (is_entrant) // a new leader no longer waits for it
    participants_.stop_waiting(lost->info.address);
  return true;
}

/// Drops a node that no longer waits for its assignment.
void Membership::drop(NodeId node) {
  constexpr const char* why = "it no longer waits for its assignment";
  if (auto waiting = take_waiting(node))
    return actions_.refuse(waiting->member.request, {Errc::stopped, why});
  if (auto* member = participants_.find(node); member && !job_.ended && !ending_.is_unstarted())
    member_gone(*member, why, {});
}

/// Refuses and drops members whose limit for an assignment is over.
void Membership::refuse_late() {
  const auto late = participants_.take_late();
  for (const auto node : late) {
    const auto missing = participants_.waiting_for();
    actions_.refuse(
        participants_.find(node)->request,
        {Errc::network,
         fmt::format("not admitted to the job of {} in time{}{}",
                     participants_.members().front().address, missing.empty() ? "" : ": ", missing),
         /*where=*/{}, Whose::there});
  }
  for (const auto node : late)
    drop(node);
}

/// The node may be alive but cut off: then it joins again later.
void Membership::lose(Member& member, const Error& error) {
  actions_.refuse(member.request, error);
  participants_.remove(member);
}

void Membership::member_gone(Member& member, const std::string& why,
                             std::chrono::milliseconds detected_after) {
  const bool had_place = job_.place_of(member.address) != nullptr;
  const auto error = loss_of(job_, member.address, why);
  generations_.note_loss(member.address, error);
  if (job_.has_begun())
    actions_.say(error.message);
  lose(member, error);
  if (!job_.has_begun())
    return actions_.say(participants_.waiting_for());
  if (!had_place)
    return; // it had no ranks yet
  faults_.forget_failures();
  generations_.halt(error, true, detected_after);
}

/// A new member no longer answers.
void Membership::leave_behind(NodeId newcomer) {
  auto* member = participants_.find(newcomer);
  if (!job_.gathers() || member == nullptr)
    return;
  const Error error{Errc::network,
                    fmt::format("node {} no longer answers, and is left out", member->address),
                    {member->address, "membership"}};
  actions_.say(error.message);
  lose(*member, error);
}

/// Leaves out nodes, which all wait for an assignment, and may join again later with their next
/// request. The leader comes last, so that the others gather at another node. Returns whether it is
/// one of them: then this Membership ends.
bool Membership::leave_out(const FaultSearch::Evidence& evidence) {
  for (const auto& [address, why] : evidence) {
    actions_.say(fmt::format("node {} is left out: {}", address, why));
    records_.add_reason(fmt::format("; node {} is left out: {}", address, why));
    auto* member = participants_.find(address);
    if (participants_.leads(*member))
      continue;
    refuse_for_now(*member, why);
    participants_.remove(*member);
  }
  auto& members = participants_.members();
  const auto leader = members.empty() ? evidence.end() : evidence.find(members.front().address);
  if (leader == evidence.end())
    return false;
  refuse_for_now(members.front(), leader->second);
  return true;
}

void Membership::refuse_for_now(Member& member, const std::string& why) {
  entrants_.leave_out(participants_.info(member).process, member.id);
  actions_.assign(member.request,
                  {.refused = Error{Errc::network, "left out: " + why, {.node = member.address}},
                   .left_out = true});
}

void Membership::failed(RequestId request, std::int64_t generation, const SharedFailure& failure,
                        Time now) {
  handle(now, [&] {
    const auto last = job_.has_begun() ? job_.generation->number : 0;
    const bool is_earlier = generation > 0 && generation < last;
    const bool is_halted =
        generation == last && job_.has_begun() &&
        (job_.phase == MembershipPhase::gathering || job_.phase == MembershipPhase::deciding);
    const auto goes_on = [&] {
      return is_halted ? !ending_.is_due_after(failure.error) : continues_after(failure);
    };
    if (job_.ended || is_earlier || goes_on())
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

/// Halts all, so that they gather, and the nodes at fault are searched for.
void Membership::suspect(const SharedFailure& failure) {
  faults_.begin(failure);
  generations_.halt(failure.error, true);
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
    ending_.quit(); // like a leader that leaves, except that steps in flight are lost
  } else {
    generations_.dismiss(*member, failed_end(error));
    generations_.halt(error, true);
  }
  return true;
}

} // namespace troupe::actors
