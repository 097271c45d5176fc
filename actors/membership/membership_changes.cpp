// The reaction of MEMBERSHIP to nodes that are lost, fail, or join while the others train.
#include "actors/caf_error.hpp"
#include "actors/membership/membership.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

std::string ranks(const training::MemberInfo& place) {
  const auto last = place.first_rank + place.workers - 1;
  return place.workers == 1 ? fmt::format("rank {}", last)
                            : fmt::format("ranks {} to {}", place.first_rank, last);
}

} // namespace

/// Ends the generation: all its nodes request an assignment in the next.
void MembershipState::halt(const Error& reason, bool is_loss,
                           std::chrono::milliseconds detected_after) {
  if (is_loss && !change_.is_loss) { // the first loss counts, even after a halt for another reason
    changing_ = steady_clock::now();
    change_ = {.reason = reason.message,
               .is_loss = true,
               .detect = std::chrono::duration<double>{detected_after}.count()};
  }
  if (phase_ == Phase::gathering)
    return form_if_complete();
  if (phase_ == Phase::deciding) {
    changed_ = reason;
    return;
  }
  if (!is_loss)
    change_ = {.reason = reason.message};
  if (!is_loss || !setup_.leave_one_by_one)
    let_leave();
  coordinator_ = nullptr;
  for (const auto& member : members_) {
    if (member.assignment)
      continue; // it has joined again since
    member_list_.await(member.address);
    self_->send(member.node, atom::halt_v, generation_->number, reason);
  }
  followers_.clear(); // the reason was sent to them first
  gather();
}

bool MembershipState::changes_wanted() const {
  return !leavers_.empty() || std::ranges::any_of(members_, [](const Member& member) {
    return member.assignment.has_value() || member.leaves;
  });
}

Error MembershipState::wanted_change() const {
  const auto leaver = std::ranges::find(members_, true, &Member::leaves);
  return {Errc::network, leaver == members_.end()
                             ? "another node has joined"
                             : fmt::format("node {} was asked to leave", leaver->address)};
}

/// Whether the job would only halt for nodes that were left out before, too soon after the last
/// such halt. A node whose links come and go must not delay the others.
bool MembershipState::waits_for_returns() {
  const auto returns = [](const Member& member) { return member.assignment && member.returns; };
  if (std::ranges::none_of(members_, returns))
    return false;
  const bool others = !leavers_.empty() || std::ranges::any_of(members_, [](const Member& member) {
    return member.leaves || (member.assignment && !member.returns);
  });
  const auto now = self_->clock().now();
  if (others || !returned_ || now >= *returned_ + setup_.between_returns) {
    returned_ = now;
    return false;
  }
  self_->run_delayed(*returned_ + setup_.between_returns - now, [this] { change_when_wanted(); });
  return true;
}

/// Halts between two steps for nodes that have joined, and for nodes that are asked to leave.
void MembershipState::change_when_wanted() {
  if (phase_ != Phase::training || !changes_wanted() || waits_for_returns())
    return;
  changing_ = steady_clock::now();
  self_->request(coordinator_, caf::infinite, atom::halt_v, !leavers_.empty())
      .then(
          [this, number = generation_->number] {
            if (phase_ != Phase::training || generation_->number != number)
              return;
            leavers_.empty() ? halt(wanted_change(), false) : hand_over();
          },
          [](const caf::error&) {}); // the generation is over in any case
}

/// Returns whether the actor was a spare, a witness or an entrant, and forgets it.
bool MembershipState::forget_waiting(const caf::down_msg& down) {
  for (auto* those : {&spares_, &witnesses_, &entrants_}) {
    const auto gone = std::ranges::find_if(
        *those, [&](const Spare& spare) { return spare.member.node.address() == down.source; });
    if (gone == those->end())
      continue;
    const auto* kind = those == &spares_      ? "spare"
                       : those == &witnesses_ ? "witness"
                                              : "joining node";
    setup_.say(fmt::format("node {}, a {}, was lost", gone->info.address, kind));
    if (those == &entrants_) // a new leader no longer waits for it
      member_list_.arrived(gone->info.address);
    those->erase(gone);
    return true;
  }
  return false;
}

void MembershipState::member_down(const caf::down_msg& down) {
  if (forget_waiting(down)) {
    revise();
    return form_if_complete();
  }
  const auto is_gone = [&](const Member& member) { return member.node.address() == down.source; };
  const auto gone = std::ranges::find_if(members_, is_gone);
  if (gone == members_.end())
    return;
  if (ended_ || unstarted_) // the node knows why it ends
    return forget(gone);
  const auto node = gone->node.node();
  member_gone(gone, lost_.why(node, down.reason),
              lost_.was_silent(node) ? setup_.timeouts.detection : 0ms);
}

void MembershipState::member_gone(Members::iterator gone, const std::string& why,
                                  std::chrono::milliseconds detected_after) {
  const auto address = gone->address;
  if (proposed_ &&
      std::ranges::count(proposed_->nodes, address, &training::MemberInfo::address) > 0)
    changed_ = {
        Errc::network, fmt::format("node {} was lost: {}", address, why), {.node = address}};
  if (!has_begun()) {
    forget(gone);
    return setup_.say(waiting_for());
  }
  const auto place = std::ranges::find(generation_->nodes, address, &training::MemberInfo::address);
  if (place == generation_->nodes.end()) { // it had no ranks yet
    forget(gone);
    setup_.say(fmt::format("node {} was lost: {}", address, why));
    change_when_wanted(); // a spare may have joined instead
    return form_if_complete();
  }
  const Error error{Errc::network,
                    fmt::format("node {} ({}) was lost: {}", address, ranks(*place), why),
                    {.node = address}};
  setup_.say(error.message);
  unexplained_ = 0;
  lose(gone, error);
  halt(error, true, detected_after);
}

/// Refuses and forgets a node. It may be alive but cut off: then it joins again later.
void MembershipState::lose(Members::iterator member, const Error& error) {
  if (member->assignment)
    member->assignment->deliver(training::NodeAssignment{.refused = error});
  forget(member);
}

void MembershipState::forget(Members::iterator member) {
  member_list_.remove(member->address);
  const auto told = std::move(member->when_gone);
  const auto place = members_.erase(member) - members_.begin();
  if (told)
    told();
  fill(place);
}

/// Dismisses a node that still runs: its daemon ends, and this process is not admitted again.
void MembershipState::dismiss(Members::iterator member, JobEnd end) {
  end.for_all = false;
  if (member->assignment)
    member->assignment->deliver(training::NodeAssignment{
        .refused = end.error.value_or(Error{Errc::stopped, "asked to leave"})});
  self_->send(member->node, atom::finish_v, end);
  self_->demonitor(member->node);
  dismissed_.push_back(member->node.address());
  forget(member);
}

caf::result<void> MembershipState::fail(std::int64_t generation, const SharedFailure& failure) {
  const auto& error = failure.error;
  const bool is_current = has_begun() && generation == generation_->number;
  const bool halted = is_current && (phase_ == Phase::gathering || phase_ == Phase::deciding);
  if (ended_ || (generation > 0 && generation < generation_->number))
    return caf::unit; // of an earlier generation
  if (halted)
    return ends_halted_job(error) ? end_after(error) : caf::unit;
  if (goes_on_after(failure))
    return caf::unit;
  if (coordinator_)
    return to_caf_error(error); // this ends the job
  return end_after(error);
}

/// Whether the leader itself fails before the first step. A person has to fix that, even if another
/// node with the same error has already halted the job.
bool MembershipState::ends_halted_job(const Error& error) const {
  return !trained_ && !is_between_nodes(error.code) && error.code != Errc::stopped &&
         !members_.empty() && error.where.node == members_.front().address;
}

caf::result<void> MembershipState::end_after(const Error& error) {
  if (!unstarted_) {
    unstarted_ = error;
    tell_ranks(error);
  }
  const bool stopped = unstarted_->code == Errc::stopped;
  auto promise = self_->make_response_promise<void>();
  end_job({.result = {.status = stopped ? "stopped" : "failed"},
           .error = stopped ? std::nullopt : unstarted_},
          [promise]() mutable { promise.deliver(); });
  return promise;
}

/// Continues without a node that has failed. After a failure between nodes they find out together
/// which one is at fault; if they find none, all try again, but only a few times.
bool MembershipState::goes_on_after(const SharedFailure& failure) {
  constexpr int most_unexplained = 3;
  if (!has_begun())
    return false;
  if (!is_between_nodes(failure.error.code))
    return goes_on_without(failure.error);
  if (++unexplained_ > most_unexplained)
    return false;
  suspect(failure);
  return true;
}

bool MembershipState::goes_on_without(const Error& error) {
  const bool begins = generation_->is_first() && phase_ == Phase::connecting;
  const auto member = find(error.where.node);
  if (member == members_.end() || (begins && error.code == Errc::stopped))
    return false;
  if (member == members_.begin())
    return hand_over_after(error);
  setup_.say(error.to_string());
  dismiss(member, failed_end(error));
  halt(error, true);
  return true;
}

} // namespace troupe::actors
