#include "actors/membership/participants.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

namespace {

using Nodes = std::vector<NodeInfo>;

Spares::iterator find_spare(Spares& spares, NodeId node) {
  return std::ranges::find(spares, node, [](const Spare& spare) { return spare.member.id; });
}

/// Limits the wait of a member by the time in its request. Membership's own waits have shorter
/// limits: this is for a node that asks late.
void limit_wait(Member& member, const NodeInfo& info, Time now) {
  member.limit = info.time_left_ms > 0
                     ? std::optional{now + std::chrono::milliseconds{info.time_left_ms}}
                     : std::nullopt;
}

/// Explains why no further node can take part in addition to these; empty: one can.
std::string lacks_node(const JobState& job, const Nodes& nodes) {
  if (std::ssize(nodes) < job.rules.max_nodes)
    return {};
  const bool one = nodes.size() == 1;
  return fmt::format("there {} {} node{} already, and cluster.nodes.max is {}", one ? "is" : "are",
                     nodes.size(), one ? "" : "s", job.rules.max_nodes);
}

/// Explains why a node with this many workers cannot take part in addition to these; empty: it can.
std::string lacks_room(const JobState& job, const Nodes& nodes, std::int32_t workers) {
  if (auto lacks = lacks_node(job, nodes); !lacks.empty())
    return lacks;
  const auto slices = job.generation->slices;
  if (const auto there = total_workers(nodes); there + workers > slices)
    return fmt::format("there {} {} worker{} already, and {} more would exceed the {} slice{} of a "
                       "global batch (data.slices)",
                       there == 1 ? "is" : "are", there, there == 1 ? "" : "s", workers, slices,
                       slices == 1 ? "" : "s");
  return {};
}

/// Returns these nodes, and the spares for which there is room.
Nodes with_spares(const JobState& job, Nodes nodes, const Spares& spares) {
  for (const auto& spare : spares)
    if (job.has_begun() && lacks_room(job, nodes, spare.info.workers).empty())
      nodes.push_back(spare.info);
  return nodes;
}

} // namespace

const Member* Participants::find(NodeId node) const {
  const auto found = std::ranges::find(members_, node, &Member::id);
  return found == members_.end() ? nullptr : &*found;
}

const Member* Participants::find(std::string_view address) const {
  const auto found = std::ranges::find(members_, address, &Member::address);
  return found == members_.end() ? nullptr : &*found;
}

Member* Participants::find(NodeId node) {
  return const_cast<Member*>(std::as_const(*this).find(node));
}

Member* Participants::find(std::string_view address) {
  return const_cast<Member*>(std::as_const(*this).find(address));
}

const Spare* Participants::find_waiting(NodeId node) const {
  for (const auto* those : {&spares_, &witnesses_})
    for (const auto& spare : *those)
      if (spare.member.id == node)
        return &spare;
  return nullptr;
}

std::vector<LinkEnd> Participants::link_ends() const {
  std::vector<LinkEnd> ends;
  for (std::size_t i = 0; i < members_.size(); ++i)
    ends.push_back({members_[i].id, {members_[i].address, list_.nodes()[i].data}});
  return ends;
}

std::vector<NodeId> Participants::waiting() const {
  std::vector<NodeId> nodes;
  for (const auto* those : {&spares_, &witnesses_})
    for (const auto& spare : *those)
      nodes.push_back(spare.member.id);
  return nodes;
}

std::string Participants::lacks_place(std::int32_t workers, const Spares& spares) const {
  if (!job_.has_begun())
    return lacks_node(job_, list_.nodes());
  if (auto lacks = lacks_room(job_, list_.nodes(), workers); !lacks.empty())
    return lacks;
  const auto& groups = job_.rules.groups;
  if (groups.size == 1)
    return {};
  const auto count = [&](Nodes nodes) {
    return count_trainers(workers_of(with_spares(job_, std::move(nodes), spares)), groups.size);
  };
  auto nodes = list_.nodes();
  const auto before = count(nodes);
  nodes.push_back({.workers = workers});
  if (count(std::move(nodes)) > before)
    return {};
  return fmt::format("workers train in groups of {} ({}), and no further group is complete",
                     groups.size, groups.key);
}

/// Returns the members, and the spares that could join them.
std::vector<NodeInfo> Participants::candidates() const {
  return with_spares(job_, list_.nodes(), spares_);
}

/// Returns the addresses of the nodes that train; none if they fill no whole groups.
std::set<std::string> Participants::choose_trainers() const {
  const auto nodes = MemberList::by_need(candidates());
  const auto trains = actors::choose_trainers(workers_of(nodes), job_.rules.groups.size);
  std::set<std::string> chosen;
  for (std::size_t i = 0; i < trains.size(); ++i)
    if (trains[i])
      chosen.insert(nodes[i].address);
  return chosen;
}

bool Participants::has_enough() const {
  return std::ssize(candidates()) >= job_.rules.min_nodes && !choose_trainers().empty();
}

std::string Participants::waiting_for() const {
  const auto nodes = candidates();
  if (!list_.absent().empty() || std::ssize(nodes) < job_.rules.min_nodes || has_enough())
    return list_.waiting_for();
  const auto here = total_workers(nodes);
  return fmt::format(
      "waiting for more nodes: workers train in groups of {} ({}), and {} {} present",
      job_.rules.groups.size, job_.rules.groups.key, here, here == 1 ? "is" : "are");
}

std::string Participants::why_it_waits(const Spare& node) const {
  if (node.info.workers > 0)
    return "waiting as a spare: " + lacks_place(node.info.workers, {});
  return members_.empty()
             ? ""
             : fmt::format("a witness of the job that {} leads", members_.front().address);
}

void Participants::say_missing() {
  const bool begins_anyway = job_.saves() && list_.absent().empty();
  if (job_.gathers() && !has_enough() && !begins_anyway)
    actions_.say(waiting_for());
}

std::vector<NodeId> Participants::take_late() {
  std::vector<NodeId> late;
  for (auto& member : members_)
    if (is_due(member.limit, job_.now) && member.request)
      late.push_back(member.id);
  return late;
}

std::optional<Time> Participants::next_limit() const {
  std::optional<Time> next;
  for (const auto& member : members_)
    next = earlier(next, member.limit);
  return next;
}

void Participants::name_voters(training::GenerationRecord& record) const {
  constexpr std::size_t most = 5; // an odd number
  record.voters.clear();
  const auto add = [&](const auto& node) {
    if (record.voters.size() < most)
      record.voters.push_back({node.address, node.process});
  };
  std::ranges::for_each(record.nodes, add);
  std::ranges::for_each(witnesses_, add, &Spare::info);
  if (record.voters.size() % 2 == 0 && !spares_.empty())
    add(spares_.front().info);
  record.spares.clear();
  for (const auto& spare : spares_)
    record.spares.push_back(spare.info.address);
}

void Participants::take_in(Spare node) {
  node.member.came = arrival_of(node.info.address);
  list_.arrived(node.info.address);
  if (node.info.workers == 0) {
    actions_.say(fmt::format("node {} is a witness", node.info.address));
    witnesses_.push_back(std::move(node));
    return;
  }
  limit_wait(node.member, node.info, job_.now);
  if (job_.inherits)
    return admit_successor(std::move(node));
  if (const auto lacks = lacks_place(node.info.workers); !lacks.empty()) {
    actions_.say(fmt::format("node {} waits as a spare: {}", node.info.address, lacks));
    node.member.limit.reset();
    spares_.push_back(std::move(node));
  } else {
    give_place(std::ssize(members_), std::move(node));
  }
}

void Participants::ask_again(const Spare& node) {
  for (auto* those : {&spares_, &witnesses_})
    if (const auto spare = find_spare(*those, node.member.id); spare != those->end()) {
      replace_request(spare->member, node);
      spare->info = node.info;
    }
  if (auto* member = find(node.member.id)) {
    replace_request(*member, node);
    list_.come_again(node.info);
    limit_wait(*member, node.info, job_.now);
  }
}

void Participants::replace_request(Member& member, const Spare& node) {
  actions_.refuse(member.request, replaced_by_later());
  member.request = node.member.request;
}

/// Returns a greater number for a node that joined later. The nodes of an earlier leader come
/// before all others, in the order of their ranks.
std::int64_t Participants::arrival_of(const std::string& address) {
  const auto* place = job_.inherits ? job_.place_of(address) : nullptr;
  if (place == nullptr)
    return ++arrivals_;
  const auto& nodes = job_.generation->nodes;
  return place - (nodes.data() + nodes.size());
}

/// Gives a node of the last generation its ranks again. Others wait until it is known which nodes
/// of that generation do not return.
void Participants::admit_successor(Spare node) {
  const bool had_place = job_.place_of(node.info.address) != nullptr;
  if (!had_place && !members_.empty()) {
    node.member.limit.reset();
    return spares_.push_back(std::move(node));
  }
  const auto place = place_of(node.info.address);
  give_place(place, std::move(node));
}

void Participants::give_place(std::ptrdiff_t place, Spare node) {
  list_.admit(node.info, place);
  members_.insert(members_.begin() + place, std::move(node.member));
}

void Participants::stop_waiting_for_strangers() {
  for (const auto& absent : std::set{list_.absent()})
    if (find(absent) == nullptr)
      list_.remove(absent);
}

void Participants::remove(const Member& member) {
  const auto place = &member - members_.data();
  list_.remove(member.address);
  members_.erase(members_.begin() + place);
  fill(place);
}

/// Gives spares the ranks of a lost node, so that they compute the same part of each step.
void Participants::fill(std::ptrdiff_t place) {
  admit_spares(place,
               [this](const NodeInfo& node) { return lacks_place(node.workers, {}).empty(); });
}

/// Makes the chosen spares members, the first of them at this index.
void Participants::admit_spares(std::ptrdiff_t place,
                                const std::function<bool(const NodeInfo&)>& is_chosen) {
  for (auto spare = spares_.begin(); spare != spares_.end();) {
    if (!is_chosen(spare->info)) {
      ++spare;
      continue;
    }
    actions_.say(fmt::format("spare node {} now takes part", spare->info.address));
    give_place(place++, std::move(*spare));
    spare = spares_.erase(spare);
  }
}

std::optional<Spare> Participants::take_waiting(NodeId node) {
  for (auto* those : {&spares_, &witnesses_})
    if (const auto found = find_spare(*those, node); found != those->end()) {
      auto spare = std::move(*found);
      those->erase(found);
      return spare;
    }
  return std::nullopt;
}

void Participants::regroup() {
  const auto chosen = choose_trainers();
  if (chosen.empty())
    return;
  const auto before = members_.size();
  admit_spares(std::ssize(members_),
               [&](const NodeInfo& node) { return chosen.contains(node.address); });
  for (auto place = before; place-- > 0;)
    if (!chosen.contains(members_[place].address))
      make_spare(place);
}

/// Makes a member a spare, in front of those that joined later, because it has trained. A node that
/// was asked to leave leaves instead.
void Participants::make_spare(std::size_t place) {
  Spare spare{list_.nodes()[place], std::move(members_[place])};
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(place));
  list_.remove(spare.info.address);
  if (spare.member.leaves)
    return actions_.refuse(spare.member.request, asked_to_leave());
  actions_.say(fmt::format("node {} waits as a spare: its workers do not fill a group of {} ({})",
                           spare.info.address, job_.rules.groups.size, job_.rules.groups.key));
  spare.member.limit.reset();
  spares_.insert(spares_.begin(), std::move(spare));
}

void Participants::fill_after_leader() {
  fill(place_of(""));
}

/// Returns the index for a node among the members that have joined: after the leader, in the order
/// of their ranks in the last generation. For a spare (""), the index that the new leader had
/// there.
std::ptrdiff_t Participants::place_of(const std::string& address) const {
  const auto order = [this](const std::string& node) {
    const auto& nodes = job_.generation->nodes;
    return std::ranges::find(nodes, node, &training::MemberInfo::address) - nodes.begin();
  };
  if (members_.empty())
    return 0;
  const auto own = address.empty() ? order(members_.front().address) : order(address);
  const auto after =
      std::ranges::find_if(members_.begin() + 1, members_.end(),
                           [&](const Member& member) { return order(member.address) > own; });
  return after - members_.begin();
}

void Participants::refuse_waiting(const Error& error) {
  for (auto* those : {&spares_, &witnesses_})
    for (auto& spare : std::exchange(*those, {}))
      actions_.refuse(spare.member.request, error);
}

void Participants::refuse_all(const Error& error) {
  for (auto& member : std::exchange(members_, {}))
    actions_.refuse(member.request, error);
  refuse_waiting(error);
}

} // namespace troupe::actors
