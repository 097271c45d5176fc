// Assigns ranks to nodes, keeps others as spares, and lets nodes leave.
#include "actors/caf_error.hpp"
#include "actors/membership/membership.hpp"
#include "core/fail.hpp"

#include <algorithm>

namespace troupe::actors {

caf::result<training::NodeAssignment> MembershipState::admit(const NodeInfo& info,
                                                             const member_actor& node) {
  if (is_replay(info))
    return training::NodeAssignment{
        .refused = Error{Errc::stopped, "replaced by a later request of the same process"}};
  if (!node)
    return no_handle();
  const auto known = find(node);
  const bool again = known != members_.end();
  if (!again && is_from_ahead(info))
    refuse_leader(info);
  if (const auto admitted = check(info, node, again); !admitted) {
    if (admitted.error().exit_code() == 2)
      report_problem(info.address,
                     fmt::format("node {} is refused: {}", info.address, admitted.error().message));
    return refusal_of(info, admitted.error());
  }
  attempts_[info.process] = info.attempt;
  auto promise = self_->make_response_promise<training::NodeAssignment>();
  if (again) {
    member_list_.come_again(info);
    known->assignment = promise;
    limit_wait(info, node);
  } else {
    lost_.watch(node);
    Spare entrant{info, {.address = info.address, .node = node, .assignment = promise}};
    if (needs_proof(info)) {
      entrants_.push_back(std::move(entrant));
      prove_next();
      return promise;
    }
    enter(std::move(entrant));
  }
  settle();
  return promise;
}

void MembershipState::enter(Spare node) {
  const auto info = node.info;
  const auto requester = node.member.node;
  node.member.came = arrival_of(info.address);
  node.member.returns = left_out_.erase(info.process) > 0;
  member_list_.arrived(info.address);
  take_in(std::move(node));
  limit_wait(info, requester);
  if (inherits_ && members_.size() == 1) // the others are compared with the first member
    self_->send(setup_.consensus, atom::gather_v);
}

void MembershipState::settle() {
  revise();
  change_when_wanted();
  form_if_complete();
  if (phase_ == Phase::gathering && !has_enough())
    setup_.say(waiting_for());
}

Status MembershipState::check(const NodeInfo& info, const member_actor& node, bool again) const {
  if (closed_)
    return failure(refusal(info));
  if (std::ranges::count(dismissed_, node.address()) > 0)
    return troupe::fail(Errc::stopped, "the other nodes continue without this node");
  if (again)
    return {};
  const auto now = self_->clock().now();
  if (auto failed = failed_proofs_.of(info.data, now); !failed.empty())
    return failure({Errc::network, std::move(failed), {info.address, "membership"}});
  const auto has_name = [&](const Spare& entrant) { return entrant.info.address == info.address; };
  if (std::ranges::any_of(entrants_, has_name))
    return troupe::fail(Errc::network, "{} is already being admitted", info.address);
  constexpr std::size_t most_entrants = 64;
  if (entrants_.size() >= most_entrants)
    return troupe::fail(Errc::network, "too many join requests: {} other nodes are being admitted",
                        entrants_.size());
  if (info.workers == 0)
    return member_list_.nodes().empty() ? Status{} : member_list_.check_same_job(info);
  TROUPE_TRY(has_begun() ? check_later(info) : member_list_.check(info));
  return has_begun() || !member_list_.nodes().empty() ? check_data(info) : Status{};
}

/// A node that was left out waits before it asks again.
training::NodeAssignment MembershipState::refusal_of(const NodeInfo& info,
                                                     const Error& error) const {
  return {.refused = error,
          .left_out = error.code == Errc::network && left_out_.contains(info.process)};
}

/// Whether the request is a replay: each process counts its requests, and they arrive in order.
bool MembershipState::is_replay(const NodeInfo& info) const {
  const auto last = attempts_.find(info.process);
  return last != attempts_.end() && info.attempt <= last->second;
}

/// Returns a greater number for a node that joined later. The nodes of an earlier leader come
/// before all others, in the order of their ranks.
std::int64_t MembershipState::arrival_of(const std::string& address) {
  if (inherits_) {
    const auto& nodes = generation_->nodes;
    const auto place = std::ranges::find(nodes, address, &training::MemberInfo::address);
    if (place != nodes.end())
      return place - nodes.end();
  }
  return ++arrivals_;
}

/// Returns why no node is admitted any more; or a wrong version or config, which is the more useful
/// error.
Error MembershipState::refusal(const NodeInfo& info) const {
  const auto same =
      has_begun() && !member_list_.nodes().empty() ? member_list_.check_same_job(info) : Status{};
  return same ? *closed_ : same.error();
}

/// Checks a node that joins a running job. A name in use is a network error, because the process
/// that has it may turn out to be lost.
Status MembershipState::check_later(const NodeInfo& info) const {
  if (member_list_.nodes().empty())
    return {}; // it will lead
  TROUPE_TRY(member_list_.check_same_job(info));
  const auto has_name = [&](const Spare& spare) { return spare.info.address == info.address; };
  if (std::ranges::count(members_, info.address, &Member::address) > 0 ||
      std::ranges::any_of(spares_, has_name))
    return troupe::fail(Errc::network, "{} already takes part in the job", info.address);
  if (const auto leaders = member_list_.nodes().front().workers;
      leaders + info.workers > generation_->slices)
    return troupe::fail(Errc::invalid_input,
                        "a global batch of {} slices (data.slices) is too small for the leader's "
                        "{} workers and {} more",
                        generation_->slices, leaders, info.workers);
  return {};
}

/// Explains why no further node can take part in addition to these; empty: one can.
std::string MembershipState::lacks_node(const std::vector<NodeInfo>& nodes) const {
  if (std::ssize(nodes) < setup_.max_nodes)
    return {};
  const bool one = nodes.size() == 1;
  return fmt::format("there {} {} node{} already, and cluster.max_nodes is {}", one ? "is" : "are",
                     nodes.size(), one ? "" : "s", setup_.max_nodes);
}

/// Explains why a node with this many workers cannot take part in addition to these; empty: it can.
std::string MembershipState::lacks_room(const std::vector<NodeInfo>& nodes,
                                        std::int32_t workers) const {
  if (auto lacks = lacks_node(nodes); !lacks.empty())
    return lacks;
  if (const auto there = total_workers(nodes); there + workers > generation_->slices)
    return fmt::format("there {} {} worker{} already, and {} more would exceed the {} slice{} of a "
                       "global batch (data.slices)",
                       there == 1 ? "is" : "are", there, there == 1 ? "" : "s", workers,
                       generation_->slices, generation_->slices == 1 ? "" : "s");
  return {};
}

/// Explains why a node with this many workers cannot take part now, with these spares; empty: it
/// can.
std::string MembershipState::lacks_place(std::int32_t workers, const Spares& beside) const {
  if (!has_begun())
    return lacks_node(member_list_.nodes());
  if (auto lacks = lacks_room(member_list_.nodes(), workers); !lacks.empty())
    return lacks;
  const auto& [group, key] = setup_.groups;
  if (group == 1)
    return {};
  auto nodes = member_list_.nodes();
  const auto before = count_trainers(workers_of(with_spares(nodes, beside)), group);
  nodes.push_back({.workers = workers});
  if (count_trainers(workers_of(with_spares(std::move(nodes), beside)), group) > before)
    return {};
  return fmt::format("workers train in groups of {} ({}), and no further group is complete", group,
                     key);
}

MembershipState::Members::iterator MembershipState::find(std::string_view address) {
  return std::ranges::find(members_, address, &Member::address);
}

MembershipState::Members::iterator MembershipState::find(const member_actor& node) {
  return std::ranges::find_if(members_, [&](const Member& member) { return member.node == node; });
}

void MembershipState::take_in(Spare node) {
  if (node.info.workers == 0) {
    setup_.say(fmt::format("node {} is a witness", node.info.address));
    witnesses_.push_back(std::move(node));
    return;
  }
  if (inherits_)
    return admit_successor(std::move(node));
  if (const auto lacks = lacks_place(node.info.workers, spares_); !lacks.empty()) {
    setup_.say(fmt::format("node {} waits as a spare: {}", node.info.address, lacks));
    spares_.push_back(std::move(node));
  } else {
    give_place(std::ssize(members_), std::move(node));
  }
}

/// Gives a node of the last generation its ranks again. Others wait until it is known which nodes
/// of that generation do not return.
void MembershipState::admit_successor(Spare node) {
  const bool had_place =
      std::ranges::count(generation_->nodes, node.info.address, &training::MemberInfo::address) > 0;
  if (!had_place && !members_.empty())
    return spares_.push_back(std::move(node));
  const auto place = place_of(node.info.address);
  give_place(place, std::move(node));
}

void MembershipState::give_place(std::ptrdiff_t place, Spare node) {
  member_list_.admit(node.info, place);
  members_.insert(members_.begin() + place, std::move(node.member));
}

/// Gives spares the ranks of a lost node, so that they compute the same part of each step.
void MembershipState::fill(std::ptrdiff_t place) {
  for (auto spare = spares_.begin(); spare != spares_.end();) {
    if (!lacks_place(spare->info.workers, {}).empty()) {
      ++spare;
      continue;
    }
    setup_.say(fmt::format("spare node {} now takes part", spare->info.address));
    give_place(place++, std::move(*spare));
    spare = spares_.erase(spare);
  }
}

MembershipState::Spares::iterator MembershipState::find_spare(Spares& spares,
                                                              const member_actor& node) {
  return std::ranges::find_if(spares,
                              [&](const Spare& spare) { return spare.member.node == node; });
}

void MembershipState::refuse_spares(const Error& error) {
  for (auto* those : {&spares_, &witnesses_, &entrants_})
    for (auto& spare : std::exchange(*those, {}))
      spare.member.assignment->deliver(training::NodeAssignment{.refused = error});
}

caf::result<void> MembershipState::leave(const member_actor& node, bool waits) {
  const Error asked{Errc::stopped, "this node was asked to leave"};
  for (auto* those : {&spares_, &witnesses_, &entrants_})
    if (const auto spare = find_spare(*those, node); spare != those->end()) {
      spare->member.assignment->deliver(training::NodeAssignment{.refused = asked});
      those->erase(spare);
      revise();
      return caf::unit;
    }
  const auto member = find(node);
  if (member == members_.end())
    return caf::unit; // the others continue without it already
  if (member == members_.begin())
    return leave_as_leader(waits);
  member->leaves = true;
  if (phase_ == Phase::gathering && !setup_.leave_one_by_one)
    let_leave();
  if (phase_ == Phase::connecting) { // where it may wait for others
    self_->send(node, atom::abort_v, generation_->number, asked);
    changing_ = std::chrono::steady_clock::now();
    halt(wanted_change(), false);
  }
  change_when_wanted();
  form_if_complete();
  return caf::unit;
}

caf::result<void> MembershipState::leave_as_leader(bool waits) {
  auto lacks = lacks_successor();
  if (lacks.empty() && phase_ == Phase::gathering && !(waits && may_have_enough()))
    lacks = "the job is not training";
  if (!lacks.empty())
    return to_caf_error(ends_with_leader(lacks));
  auto answer = leavers_.emplace_back(self_->make_response_promise<void>());
  change_when_wanted();
  return answer;
}

void MembershipState::keep_leader(const Error& reason) {
  for (auto& leaver : std::exchange(leavers_, {}))
    leaver.deliver(to_caf_error(reason));
}

Error MembershipState::ends_with_leader(const std::string& lacks) const {
  return {Errc::invalid_input, fmt::format("{} leads the job, and the job would end if it left: {}",
                                           members_.front().address, lacks)};
}

/// While gathering: whether enough nodes have joined, or are awaited.
bool MembershipState::may_have_enough() const {
  return !member_list_.absent().empty() || has_enough();
}

/// Returns the number of nodes that stay when the leader leaves, including awaited ones.
std::size_t MembershipState::others_that_stay() const {
  std::set<std::string> others{member_list_.absent()};
  for (const auto& member : members_)
    others.insert(member.address);
  for (const auto& member : members_)
    if (member.leaves)
      others.erase(member.address);
  others.erase(members_.front().address);
  return others.size();
}

/// Explains why the others could not continue without the leader; empty: they can. Spares and
/// witnesses have no state.
std::string MembershipState::lacks_successor() const {
  if (!has_begun())
    return "the job has not begun";
  if (ended_ || stopping_ || ending_)
    return "the job is not training";
  if (generation_->nodes.size() < 2 || generation_->voters.size() < 2 || others_that_stay() < 1)
    return "no other node can lead the job";
  if (static_cast<std::ptrdiff_t>(others_that_stay()) + std::ssize(spares_) < setup_.min_nodes)
    return "fewer nodes than cluster.min_nodes would remain";
  auto workers = member_list_.workers() - member_list_.nodes().front().workers;
  for (const auto& spare : spares_)
    workers += spare.info.workers;
  if (member_list_.absent().empty() &&
      workers < setup_.groups.size) // otherwise the number of workers is not known yet
    return fmt::format("no group of {} workers ({}) would remain", setup_.groups.size,
                       setup_.groups.key);
  return setup_.lacks_copies(*generation_);
}

/// Refuses the leader's pending requests to leave if no other node can lead any more, because nodes
/// were lost, or leave too. With too few nodes it would never train again, and so never hand over.
void MembershipState::check_leavers() {
  if (leavers_.empty() || phase_ != Phase::gathering)
    return;
  auto lacks = lacks_successor();
  if (lacks.empty() && !may_have_enough())
    lacks = "the job is not training";
  if (!lacks.empty())
    keep_leader(ends_with_leader(lacks));
}

/// Ends this MEMBERSHIP; its loss tells the others that the leader leaves. All steps that have
/// begun are saved, because the next leader may leave at the same moment.
void MembershipState::hand_over() {
  if (const auto lacks = lacks_successor(); !lacks.empty()) { // this has changed since it was asked
    keep_leader(ends_with_leader(lacks));
    return halt({Errc::network, "no other node can lead the job any more"}, false);
  }
  for (auto& leaver : leavers_)
    leaver.deliver();
  self_->quit(caf::exit_reason::user_shutdown);
}

/// Dismisses the nodes that were asked to leave, now that nothing is trained.
void MembershipState::let_leave() {
  const auto leaves = [this] { return std::ranges::find(members_, true, &Member::leaves); };
  for (auto member = leaves(); member != members_.end(); member = leaves()) {
    dismiss(member, {.result = {.status = "stopped"}});
    if (setup_.leave_one_by_one)
      return;
  }
}

} // namespace troupe::actors
