#include "actors/membership/fault_search.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

bool FaultSearch::may_try_again() {
  constexpr int most_unexplained = 3;
  return ++unexplained_ <= most_unexplained;
}

void FaultSearch::begin(const SharedFailure& failure) {
  actions_.say(failure.error.to_string());
  if (!search_)
    search_ = Search{failure};
}

bool FaultSearch::waits_for_links() {
  if (search_ && participants_.members().size() < 2)
    search_.reset();
  if (search_ && search_->probe == 0)
    search_->probe = probes_.of_all(participants_.link_ends());
  return search_.has_value();
}

/// A node that has not answered proves nothing: the failure detector notices its loss.
std::optional<FaultSearch::Evidence> FaultSearch::end(const Probes::Outcome& outcome) {
  if (!search_ || search_->probe != outcome.probe)
    return std::nullopt;
  const auto failure = std::exchange(search_, std::nullopt)->failure;
  if (!job_.gathers())
    return std::nullopt;
  auto evidence = blame_links(outcome.broken);
  if (evidence.empty())
    evidence = blame_behind(failure);
  if (!evidence.empty())
    forget_failures();
  else
    actions_.say(fmt::format("all nodes can reach each other; trying again after: {}",
                             failure.error.message));
  return evidence;
}

void FaultSearch::watch_connecting() {
  watch_ = 0;
  watches_at_ = job_.now + job_.rules.timeouts.rejoin;
}

void FaultSearch::wake() {
  if (is_due(watches_at_, job_.now) && job_.connects() && participants_.members().size() > 1)
    watch_ = probes_.of_all(participants_.link_ends());
}

std::optional<SharedFailure> FaultSearch::end_watch(const Probes::Outcome& outcome) {
  if (outcome.probe != watch_ || !job_.connects())
    return std::nullopt;
  const auto& broken = outcome.broken;
  if (!broken.empty())
    return SharedFailure{{Errc::network, describe_links(broken.front().to, broken)}};
  watch_connecting();
  return std::nullopt;
}

bool FaultSearch::waits_for_newcomers() {
  bool waits = false;
  for (const auto& member : participants_.members()) {
    if (participants_.leads(member) || job_.place_of(member.address) != nullptr)
      continue; // it is no new member
    const auto [question, is_new] = questions_.try_emplace(member.id);
    if (is_new)
      question->second = probes_.of_answer({member.id, {member.address, ""}});
    waits = waits || question->second != 0;
  }
  return waits;
}

std::optional<NodeId> FaultSearch::end_question(const Probes::Outcome& outcome) {
  const auto found =
      std::ranges::find(questions_, outcome.probe, [](const auto& asked) { return asked.second; });
  if (found == questions_.end())
    return std::nullopt;
  if (!outcome.silent.empty())
    return found->first;
  found->second = 0;
  return std::nullopt;
}

FaultSearch::Evidence FaultSearch::blame_links(const std::vector<BrokenLink>& broken) const {
  Evidence evidence;
  for (const auto& node : choose_left_out(candidates(), broken, costs()))
    evidence[node] = describe_links(node, broken);
  return evidence;
}

/// Blames the nodes of the ranks that the others waited for. If all links work, these ranks hang,
/// or are slower than any timeout.
FaultSearch::Evidence FaultSearch::blame_behind(const SharedFailure& failure) const {
  Evidence evidence;
  for (const auto& node : failure.behind) {
    const auto* member = participants_.find(node);
    if (member == nullptr || (participants_.leads(*member) && !handover_.is_possible()))
      return {};
    evidence[node] = fmt::format("{} sent less data than the other nodes, which waited for it: {}",
                                 node, failure.error.message);
  }
  return evidence;
}

std::vector<BlameCandidate> FaultSearch::candidates() const {
  std::vector<BlameCandidate> nodes;
  const auto& members = participants_.members();
  for (std::size_t i = 0; i < members.size(); ++i)
    nodes.push_back({.address = members[i].address,
                     .workers = participants_.list().nodes()[i].workers,
                     .came = members[i].came,
                     .leads = i == 0});
  return nodes;
}

BlameCosts FaultSearch::costs() const {
  return {.loses_state = [this](const auto& out) { return handover_.loses_state(out); },
          .loses_quorum = [this](const auto& out) { return handover_.loses_quorum(out); },
          .leader_may_leave = handover_.is_possible()};
}

} // namespace troupe::actors
