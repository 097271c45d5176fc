// The waits of nodes for MEMBERSHIP, and their limits.
#include "actors/membership/membership.hpp"

#include <fmt/format.h>

#include <chrono>

namespace troupe::actors {

/// Refuses a member when the time in its request is over. MEMBERSHIP's own waits have shorter
/// limits: this is for a node that asks late.
void MembershipState::limit_wait(const NodeInfo& info, const member_actor& node) {
  const auto member = find(node);
  if (member == members_.end())
    return; // a spare
  member->request = ++requests_;
  if (info.time_left_ms > 0)
    self_->run_delayed(std::chrono::milliseconds{info.time_left_ms},
                       [this, node, request = requests_] { refuse_late(node, request); });
}

void MembershipState::refuse_late(const member_actor& node, std::int64_t request) {
  const auto member = find(node);
  if (ended_ || member == members_.end() || !member->assignment || member->request != request)
    return;
  const auto missing = waiting_for();
  auto assignment = std::exchange(member->assignment, std::nullopt);
  assignment->deliver(training::NodeAssignment{
      .refused = Error{Errc::network,
                       fmt::format("not admitted to the job of {} in time{}{}",
                                   members_.front().address, missing.empty() ? "" : ": ", missing),
                       /*where=*/{}, Whose::there}});
  withdraw(node);
}

/// Drops a node that no longer waits for its assignment.
void MembershipState::withdraw(const member_actor& node) {
  for (auto* those : {&spares_, &witnesses_, &entrants_})
    if (const auto spare = find_spare(*those, node); spare != those->end()) {
      those->erase(spare);
      return revise();
    }
  const auto member = find(node);
  if (member == members_.end() || ended_ || unstarted_)
    return;
  self_->demonitor(node);
  member_gone(member, "it no longer waits for its assignment", {});
}

WaitStatus MembershipState::status(const member_actor& node) {
  if (find_spare(witnesses_, node) != witnesses_.end())
    return {members_.empty()
                ? ""
                : fmt::format("a witness of the job that {} leads", members_.front().address)};
  if (find_spare(entrants_, node) != entrants_.end())
    return {"waiting until the other nodes have checked their connections to this node"};
  if (const auto spare = find_spare(spares_, node); spare != spares_.end())
    return {"waiting as a spare: " + lacks_place(spare->info.workers, {})};
  if (phase_ == Phase::connecting && fetched_ < generation_->lacking())
    return {fmt::format("sending the checkpoint: {} of {} nodes have it", fetched_,
                        generation_->lacking())};
  const auto waited =
      std::chrono::floor<std::chrono::milliseconds>(self_->clock().now() - gathering_);
  return {waiting_for(), waited.count(), setup_.timeouts.quorum.count()};
}

} // namespace troupe::actors
