#include "actors/membership/handover.hpp"

#include "actors/membership/quorum.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

std::string Handover::lacks() const {
  if (!job_.has_begun())
    return "the job has not begun";
  if (job_.ended || job_.stopping || job_.ending)
    return "the job is not training";
  const auto& record = *job_.generation;
  if (record.nodes.size() < 2 || record.voters.size() < 2 || others_that_stay() < 1)
    return "no other node can lead the job";
  if (others_that_stay() + std::ssize(participants_.spares()) < job_.rules.min_nodes)
    return "fewer nodes than cluster.nodes.min would remain";
  const auto& groups = job_.rules.groups;
  const bool is_known = participants_.list().absent().empty(); // the number of workers
  if (is_known && workers_without_leader() < groups.size)
    return fmt::format("no group of {} workers ({}) would remain", groups.size, groups.key);
  return job_.rules.lacks_copies(record);
}

/// Returns the number of nodes that stay when the leader leaves, including awaited ones.
std::ptrdiff_t Handover::others_that_stay() const {
  std::set<std::string> others{participants_.list().absent()};
  for (const auto& member : participants_.members())
    others.insert(member.address);
  for (const auto& member : participants_.members())
    if (member.leaves)
      others.erase(member.address);
  others.erase(participants_.members().front().address);
  return std::ssize(others);
}

std::int64_t Handover::workers_without_leader() const {
  const auto& nodes = participants_.list().nodes();
  auto workers = total_workers(nodes) - nodes.front().workers;
  for (const auto& spare : participants_.spares())
    workers += spare.info.workers;
  return workers;
}

bool Handover::is_possible() const {
  const auto& members = participants_.members();
  if (!job_.trained || job_.ended || job_.stopping || job_.ending || !job_.rules.has_voters ||
      job_.generation->voters.size() < 2 || members.empty())
    return false;
  return std::ssize(members) + std::ssize(participants_.spares()) > job_.rules.min_nodes &&
         workers_without_leader() >= job_.rules.groups.size;
}

bool Handover::loses_state(const std::set<std::string>& without) const {
  const auto& nodes = participants_.list().nodes();
  auto others = nodes;
  std::erase_if(others, [&](const NodeInfo& node) { return without.contains(node.address); });
  return MemberList::furthest_step(others) < MemberList::furthest_step(nodes);
}

bool Handover::loses_quorum(const std::set<std::string>& without) const {
  const auto& voters = job_.generation->voters;
  std::set<std::size_t> left;
  const auto count = [&](const NodeInfo& node) {
    const auto vote = std::ranges::find(voters, training::Voter{node.address, node.process});
    if (vote != voters.end() && !without.contains(node.address))
      left.insert(static_cast<std::size_t>(vote - voters.begin()));
  };
  std::ranges::for_each(participants_.list().nodes(), count);
  for (const auto& witness : participants_.witnesses())
    count(witness.info);
  return !is_quorum(left, voters.size());
}

bool Handover::is_possible_after(const Error& error) const {
  return error.code != Errc::stopped && is_possible() && !loses_leaders_state();
}

/// Whether the state would be lost with the leader. Nodes that are connecting have the state that
/// they joined with; copies of shards are only made in training.
bool Handover::loses_leaders_state() const {
  return job_.phase == MembershipPhase::training
             ? !job_.rules.lacks_copies(*job_.generation).empty()
             : loses_state({participants_.members().front().address});
}

/// Explains why the leader cannot leave now; empty: it can. `waits`: it waits for other nodes.
std::string Handover::lacks_now(bool waits) const {
  auto missing = lacks();
  if (!missing.empty() || job_.phase != MembershipPhase::gathering)
    return missing;
  if (waits && (!participants_.list().absent().empty() || participants_.has_enough()))
    return {}; // enough nodes have joined, or are awaited
  return "the job is not training";
}

void Handover::ask(RequestId request, bool waits) {
  if (const auto missing = lacks_now(waits); !missing.empty())
    actions_.add(action::Answer{request, ends_with_leader(missing)});
  else
    leavers_.push_back(request);
}

void Handover::check() {
  if (leavers_.empty() || !job_.gathers() || participants_.members().empty())
    return;
  if (const auto missing = lacks_now(/*waits=*/true); !missing.empty())
    keep_leader(missing);
}

Error Handover::ends_with_leader(const std::string& lacks) const {
  return {Errc::invalid_input, fmt::format("{} leads the job, and the job would end if it left: {}",
                                           participants_.members().front().address, lacks)};
}

void Handover::answer(const std::optional<Error>& refused) {
  for (const auto leaver : std::exchange(leavers_, {}))
    actions_.add(action::Answer{leaver, refused});
}

} // namespace troupe::actors
