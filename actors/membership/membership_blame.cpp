// The reaction of MEMBERSHIP to a failure between nodes: it finds out which of them to leave out.
#include "actors/membership/membership.hpp"
#include "actors/membership/quorum.hpp"
#include "collectives/data_plane/data_plane.hpp"
#include "core/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

/// Halts, so that all nodes gather and probe each other. The error of a rank that waits in vain
/// blames neither node, because ranks wait for each other in circles.
void MembershipState::suspect(const SharedFailure& failure) {
  setup_.say(failure.error.to_string());
  if (!suspicion_)
    suspicion_ = Suspicion{.error = failure.error, .behind = failure.behind};
  halt(failure.error, true);
}

/// Whether links are being probed before the next generation is built.
bool MembershipState::probes_links() {
  if (suspicion_ && members_.size() < 2)
    suspicion_.reset();
  if (suspicion_ && suspicion_->probe == 0) {
    suspicion_->probe = ++probes_;
    probe_members([this, probe = probes_](const auto& broken) { links_probed(probe, broken); });
  }
  return suspicion_.has_value();
}

/// Has all members try their links. A link that cannot be made within `probe` is broken. A node
/// that does not answer within another `detection` proves nothing: the failure detector notices its
/// loss.
void MembershipState::probe_members(const Probed& then) {
  const auto ticket = collectives::make_secret();
  if (!ticket) { // without tickets there is no evidence
    self_->run_delayed(std::chrono::milliseconds{0}, [then] { then({}); });
    return;
  }
  const auto open = std::make_shared<std::size_t>(members_.size());
  const auto broken = std::make_shared<std::vector<BrokenLink>>();
  const auto answered = [open, broken, then] {
    if (--*open == 0)
      then(*broken);
  };
  for (const auto& member : members_)
    self_
        ->request(member.node, setup_.probe + setup_.timeouts.detection, atom::probe_v,
                  probe_order(*ticket, member.address))
        .then(
            [broken, answered](const std::vector<BrokenLink>& found) {
              broken->insert(broken->end(), found.begin(), found.end());
              answered();
            },
            [answered](const caf::error&) { answered(); });
}

/// Orders a node to try its links to all others.
ProbeOrder MembershipState::probe_order(const std::string& ticket, const std::string& node) const {
  ProbeOrder order{.ticket = ticket, .to = {}, .limit_ms = setup_.probe.count()};
  for (const auto& other : member_list_.nodes())
    if (other.address != node)
      order.to.push_back({other.address, other.data});
  return order;
}

void MembershipState::links_probed(std::int64_t probe, const std::vector<BrokenLink>& broken) {
  if (!suspicion_ || suspicion_->probe != probe)
    return;
  const auto suspicion = *std::exchange(suspicion_, std::nullopt);
  if (ended_ || phase_ != Phase::gathering)
    return;
  if (blame_links(broken) || blame_behind(suspicion))
    unexplained_ = 0;
  else
    setup_.say(fmt::format("all nodes can reach each other; trying again after: {}",
                           suspicion.error.message));
  if (ended_)
    return;
  form_if_complete();
  if (phase_ == Phase::gathering)
    setup_.say(waiting_for());
}

/// Probes links while ranks connect: ranks that cannot connect report it only after minutes.
void MembershipState::watch_connecting() {
  self_->run_delayed(setup_.timeouts.rejoin, [this, number = generation_->number] {
    const auto connects = [this, number] {
      return phase_ == Phase::connecting && !ended_ && generation_->number == number;
    };
    if (!connects() || members_.size() < 2)
      return;
    probe_members([this, connects](const std::vector<BrokenLink>& broken) {
      if (!connects())
        return;
      if (broken.empty())
        return watch_connecting();
      suspect({{Errc::network, describe_links(broken.front().to, broken)}});
    });
  });
}

bool MembershipState::blame_links(const std::vector<BrokenLink>& broken) {
  const auto out = choose_left_out(blame_candidates(), broken, blame_costs());
  std::map<std::string, std::string> evidence;
  for (const auto& node : out)
    evidence[node] = describe_links(node, broken);
  leave_out(evidence);
  return !out.empty();
}

/// Leaves out the nodes of the ranks that the others waited for. If all links work, these ranks
/// hang, or are slower than any timeout.
bool MembershipState::blame_behind(const Suspicion& suspicion) {
  std::map<std::string, std::string> evidence;
  for (const auto& node : suspicion.behind) {
    const auto member = find(node);
    if (member == members_.end() || (member == members_.begin() && !may_be_succeeded()))
      return false;
    evidence[node] = fmt::format("{} sent less data than the other nodes, which waited for it: {}",
                                 node, suspicion.error.message);
  }
  leave_out(evidence);
  return !evidence.empty();
}

std::vector<BlameCandidate> MembershipState::blame_candidates() const {
  std::vector<BlameCandidate> nodes;
  for (std::size_t i = 0; i < members_.size(); ++i)
    nodes.push_back({.address = members_[i].address,
                     .workers = member_list_.nodes()[i].workers,
                     .came = members_[i].came,
                     .leads = i == 0});
  return nodes;
}

BlameCosts MembershipState::blame_costs() const {
  return {.loses_state = [this](const auto& out) { return loses_state(out); },
          .loses_quorum = [this](const auto& out) { return loses_quorum(out); },
          .leader_may_leave = may_be_succeeded()};
}

/// Whether the other nodes have only an older state, because both a shard and its copy would be
/// lost.
bool MembershipState::loses_state(const std::set<std::string>& without) const {
  auto others = member_list_.nodes();
  std::erase_if(others, [&](const NodeInfo& node) { return without.contains(node.address); });
  return MemberList::furthest_step(others) < MemberList::furthest_step(member_list_.nodes());
}

bool MembershipState::loses_quorum(const std::set<std::string>& without) const {
  std::set<std::size_t> left;
  const auto count = [&](const NodeInfo& node) {
    const auto& voters = generation_->voters;
    const auto vote = std::ranges::find(voters, training::Voter{node.address, node.process});
    if (vote != voters.end() && !without.contains(node.address))
      left.insert(static_cast<std::size_t>(vote - voters.begin()));
  };
  std::ranges::for_each(member_list_.nodes(), count);
  for (const auto& witness : witnesses_)
    count(witness.info);
  return !is_quorum(left, generation_->voters.size());
}

/// Whether the others can continue from the current step when the leader leaves.
bool MembershipState::may_be_succeeded() const {
  if (!trained_ || ended_ || stopping_ || ending_ || !setup_.consensus ||
      generation_->voters.size() < 2 || members_.empty())
    return false;
  auto workers = member_list_.workers() - member_list_.nodes().front().workers;
  for (const auto& spare : spares_)
    workers += spare.info.workers;
  return std::ssize(members_) + std::ssize(spares_) > setup_.min_nodes &&
         workers >= setup_.groups.size;
}

/// Refuses these nodes, which all wait for an assignment. The leader comes last: this MEMBERSHIP
/// ends, so that the others gather at another node.
void MembershipState::leave_out(const std::map<std::string, std::string>& evidence) {
  for (const auto& [address, why] : evidence) {
    const auto member = find(address);
    setup_.say(fmt::format("node {} is left out: {}", address, why));
    change_.reason += fmt::format("; node {} is left out: {}", address, why);
    if (member == members_.begin())
      continue;
    refuse_for_now(*member, why);
    self_->demonitor(member->node);
    forget(member);
  }
  const auto leader = members_.empty() ? evidence.end() : evidence.find(members_.front().address);
  if (leader == evidence.end())
    return;
  refuse_for_now(members_.front(), leader->second);
  ended_ = true;
  self_->quit(caf::exit_reason::user_shutdown);
}

/// Refuses a node, which may join again later with a new request.
void MembershipState::refuse_for_now(Member& member, const std::string& why) {
  const auto node = std::ranges::find(member_list_.nodes(), member.address, &NodeInfo::address);
  left_out_[node->process] = member.node;
  if (member.assignment)
    std::exchange(member.assignment, std::nullopt)
        ->deliver(training::NodeAssignment{
            .refused = Error{Errc::network, "left out: " + why, {.node = member.address}},
            .left_out = true});
}

/// Whether the state would be lost with the leader. Nodes that are connecting have the state that
/// they joined with; copies of shards are only made in training.
bool MembershipState::others_lack_state() const {
  return phase_ == Phase::training ? !setup_.lacks_copies(*generation_).empty()
                                   : loses_state({members_.front().address});
}

/// Ends this MEMBERSHIP if another node can lead after an error of the leader. Like a leader that
/// leaves, except that steps in flight are lost.
bool MembershipState::hand_over_after(const Error& error) {
  if (error.code == Errc::stopped || !may_be_succeeded() || others_lack_state())
    return false;
  setup_.say(error.to_string());
  auto end = failed_end(error);
  end.for_all = false;
  self_->send(members_.front().node, atom::finish_v, end);
  ended_ = true;
  self_->quit(caf::exit_reason::user_shutdown);
  return true;
}

} // namespace troupe::actors
