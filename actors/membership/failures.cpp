#include "actors/membership/failures.hpp"

namespace troupe::actors {

void Failures::node_down(NodeId node, const std::string& why,
                         std::chrono::milliseconds detected_after) {
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
}

void Failures::drop(NodeId node) {
  constexpr const char* why = "it no longer waits for its assignment";
  if (auto waiting = departures_.take_waiting(node))
    return actions_.refuse(waiting->member.request, {Errc::stopped, why});
  if (auto* member = participants_.find(node); member && !job_.ended && !ending_.is_unstarted())
    member_gone(*member, why, {});
}

void Failures::refuse_late() {
  for (const auto node : departures_.refuse_late())
    drop(node);
}

void Failures::member_gone(Member& member, const std::string& why,
                           std::chrono::milliseconds detected_after) {
  const bool had_place = job_.place_of(member.address) != nullptr;
  const auto error = departures_.loss_of(member, why);
  generations_.note_loss(member.address, error);
  if (job_.has_begun())
    actions_.say(error.message);
  departures_.lose(member, error);
  if (!job_.has_begun())
    return actions_.say(participants_.capacity().waiting_for());
  if (!had_place)
    return; // it had no ranks yet
  faults_.forget_failures();
  generations_.halt(error, true, detected_after);
}

void Failures::report(RequestId request, std::int64_t generation, const SharedFailure& failure) {
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
}

/// Continues without a node that has failed. After a failure between nodes they find out together
/// which one is at fault; if they find none, all try again, but only a few times.
bool Failures::continues_after(const SharedFailure& failure) {
  if (!job_.has_begun())
    return false;
  if (!is_between_nodes(failure.error.code))
    return continues_without(failure.error);
  if (!faults_.may_try_again())
    return false;
  suspect(failure);
  return true;
}

void Failures::suspect(const SharedFailure& failure) {
  faults_.begin(failure);
  generations_.halt(failure.error, true);
}

bool Failures::continues_without(const Error& error) {
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
    departures_.dismiss(*member, failed_end(error));
    generations_.halt(error, true);
  }
  return true;
}

} // namespace troupe::actors
