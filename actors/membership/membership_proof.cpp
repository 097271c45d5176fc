// The proof that other nodes can work with a node, before it takes part.
#include "actors/membership/link_proof.hpp"
#include "actors/membership/membership.hpp"
#include "core/fail.hpp"

#include <algorithm>

namespace troupe::actors {

namespace {

std::string in_words(const std::string& node, const std::vector<BrokenLink>& broken) {
  constexpr std::size_t most_named = 4;
  std::string links;
  for (std::size_t i = 0; i < std::min(broken.size(), most_named); ++i)
    links += fmt::format("{}{} to {}: {}", i == 0 ? "" : "; ", broken[i].from, broken[i].to,
                         broken[i].why);
  if (broken.size() > most_named)
    links += fmt::format("; and {} more", broken.size() - most_named);
  return fmt::format("node {} is not admitted, because data connections cannot be made ({}); check "
                     "cluster.advertise, cluster.data_port and firewalls",
                     node, links);
}

/// Whether only the entrant's links are to blame. A member that has not answered may be at fault
/// itself.
bool is_of_entrant(const std::vector<BrokenLink>& broken, const std::string& entrant) {
  return std::ranges::none_of(broken, [&](const BrokenLink& link) {
    return link.from != entrant && link.why == no_answer;
  });
}

} // namespace

/// Whether a node has to prove itself. Nodes of the last generation that join a new leader have
/// done so before.
bool MembershipState::needs_proof(const NodeInfo& info) const {
  if (info.workers == 0 || member_list_.nodes().empty())
    return false;
  return !inherits_ ||
         std::ranges::none_of(generation_->nodes, [&](const training::MemberInfo& place) {
           return place.address == info.address && place.process == info.process &&
                  place.data == info.data;
         });
}

/// Whether all members reached this node at this port before. A later process of the node may have
/// another port.
bool MembershipState::was_reached(const std::string& node, const std::string& port) const {
  const auto found = reached_ports_.find(node);
  return found != reached_ports_.end() && found->second == port;
}

/// Tries the links of the next entrant. Only one at a time, so that no stranger makes the nodes
/// dial many ports.
void MembershipState::prove_next() {
  const auto next = std::ranges::find(entrants_, false, &Spare::is_proven);
  if (proving_ || ended_ || next == entrants_.end())
    return;
  std::vector<LinkEnd> others;
  for (std::size_t i = 0; i < members_.size(); ++i)
    others.push_back({{members_[i].address, member_list_.nodes()[i].data}, members_[i].node});
  const auto node = next->member.node;
  proving_ = true;
  next->proof = ++proofs_;
  const auto tried = prove_links(self_, {{next->info.address, next->info.data}, node}, others,
                                 setup_.probe, [this, node](std::vector<BrokenLink> broken) {
                                   proving_ = false;
                                   links_tried(node, std::move(broken));
                                   prove_next();
                                 });
  if (tried)
    return;
  proving_ = false;
  refuse_entrant(node, tried.error());
}

void MembershipState::links_tried(const member_actor& node, std::vector<BrokenLink> broken) {
  const auto entrant = find_spare(entrants_, node);
  if (entrant == entrants_.end())
    return; // no longer an entrant
  const auto address = entrant->info.address;
  std::erase_if(broken, [&](const BrokenLink& link) { // links of members that are lost since
    const auto& other = link.from == address ? link.to : link.from;
    return other != address && find(other) == members_.end();
  });
  const auto& port = entrant->info.data;
  failed_proofs_.forget(port);
  if (!broken.empty()) {
    auto problem = in_words(address, broken);
    if (is_of_entrant(broken, address) && !was_reached(address, port))
      failed_proofs_.note(port, problem, self_->clock().now());
    return refuse_entrant(node, {Errc::network, std::move(problem), {address, "membership"}});
  }
  entrant->is_proven = true;
  reached_ports_[address] = port;
  if (!has_to_be_stable(*entrant))
    return admit_entrant(node);
  self_->run_delayed(setup_.timeouts.admission_delay(),
                     [this, node, proof = entrant->proof] { stayed(node, proof); });
}

/// Whether a running job would halt for the entrant, so that it has to stay connected for a while
/// first.
bool MembershipState::has_to_be_stable(const Spare& entrant) const {
  return setup_.timeouts.admission_delay().count() > 0 && !entrant.is_stable && has_begun() &&
         phase_ != Phase::gathering && lacks_place(entrant.info.workers, spares_).empty();
}

/// Tries the links of an entrant again: they may have broken while it waited.
void MembershipState::stayed(const member_actor& node, std::int64_t proof) {
  const auto entrant = find_spare(entrants_, node);
  if (entrant == entrants_.end() || entrant->proof != proof)
    return; // no longer an entrant, or joined again since
  entrant->is_stable = true;
  entrant->is_proven = false;
  prove_next();
}

/// Checks an entrant again, because nodes may have joined and left meanwhile, and admits it.
void MembershipState::admit_entrant(const member_actor& node) {
  const auto found = find_spare(entrants_, node);
  auto entrant = std::move(*found);
  entrants_.erase(found);
  if (const auto checked = check(entrant.info, node, false); !checked) {
    entrants_.push_back(std::move(entrant));
    return refuse_entrant(node, checked.error());
  }
  enter(std::move(entrant));
  settle();
}

/// Admits entrants that still wait until they are stable: nothing is trained now, so no node halts.
void MembershipState::admit_proven() {
  std::vector<member_actor> proven;
  for (const auto& entrant : entrants_)
    if (entrant.is_proven)
      proven.push_back(entrant.member.node);
  for (const auto& node : proven)
    admit_entrant(node);
}

void MembershipState::refuse_entrant(const member_actor& node, const Error& error) {
  const auto entrant = find_spare(entrants_, node);
  const auto address = entrant->info.address;
  report_problem(address, error.message);
  entrant->member.assignment->deliver(refusal_of(entrant->info, error));
  entrants_.erase(entrant);
  self_->demonitor(node);
  member_list_.arrived(address); // a new leader no longer waits for it
  form_if_complete();
}

/// Whether a member had no ranks in the last generation.
bool MembershipState::is_newcomer(const Member& member) const {
  return &member != &members_.front() &&
         (!has_begun() || std::ranges::count(generation_->nodes, member.address,
                                             &training::MemberInfo::address) == 0);
}

/// Asks newcomers once more before the record names them: one that is stuck now would delay all.
/// Returns whether some have not answered yet.
bool MembershipState::confirms_newcomers() {
  bool waits = false;
  for (const auto& member : members_) {
    if (!is_newcomer(member))
      continue;
    const auto [asked, is_new] = confirmed_.try_emplace(member.node.address(), false);
    waits = waits || !asked->second;
    if (!is_new)
      continue;
    const auto confirmed = [this, node = member.node, round = rounds_](bool answers) {
      confirm(node, round, answers);
    };
    self_->request(member.node, setup_.timeouts.detection, atom::probe_v, ProbeOrder{})
        .then([confirmed](const std::vector<BrokenLink>&) { confirmed(true); },
              [confirmed](const caf::error&) { confirmed(false); });
  }
  return waits;
}

void MembershipState::confirm(const member_actor& node, std::int64_t round, bool answers) {
  const auto member = find(node);
  if (!gathers_for(round) || member == members_.end())
    return;
  confirmed_[node.address()] = answers;
  if (!answers) {
    const Error error{Errc::network,
                      fmt::format("node {} no longer answers, and is left out", member->address),
                      {member->address, "membership"}};
    setup_.say(error.message);
    self_->demonitor(node);
    lose(member, error);
  }
  form_if_complete();
}

/// Logs the same problem of a node at most once a minute, because the node may ask repeatedly.
void MembershipState::report_problem(const std::string& node, const std::string& problem) {
  const auto now = self_->clock().now();
  if (problems_reported_.of(node, now) == problem)
    return;
  problems_reported_.note(node, problem, now);
  setup_.say(problem);
}

Status MembershipState::check_data(const NodeInfo& info) const {
  return MemberList::check_same_data(info, has_begun() ? generation_->training
                                                       : member_list_.nodes().front().training);
}

/// Whether a node has trained the job further than this leader, which was restarted and has other
/// data now.
bool MembershipState::is_from_ahead(const NodeInfo& info) const {
  if (has_begun() || closed_ || member_list_.nodes().empty() || check_data(info))
    return false;
  return info.workers > 0 && member_list_.check_same_job(info) &&
         (info.offer.step > member_list_.nodes().front().offer.step || !info.offer.parts.empty());
}

/// Refuses the leader, and then all others, which look for another leader.
void MembershipState::refuse_leader(const NodeInfo& info) {
  const auto& leader = member_list_.nodes().front();
  const auto differs = MemberList::check_same_data(leader, info.training);
  if (auto& assignment = members_.front().assignment)
    assignment->deliver(training::NodeAssignment{.refused = differs.error()});
  members_.erase(members_.begin());
  refuse_all({Errc::network, differs.error().message, {.node = leader.address}});
}

} // namespace troupe::actors
