// Chooses the state that a generation resumes from. A divided state counts if the nodes hold all of
// it together.
#include "actors/membership/member_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace troupe::actors {

namespace {

using training::RetainedShards;
using Nodes = std::vector<NodeInfo>;

/// A divided state whose last step at least one rank is known to have applied.
struct Candidate {
  std::int64_t step = -1;
  std::int32_t shards = 0;

  bool operator>(const Candidate& other) const {
    return std::tie(step, shards) > std::tie(other.step, other.shards);
  }
};

bool is_of(const RetainedShards& retained, const Candidate& candidate) {
  return retained.step == candidate.step && retained.shards == candidate.shards;
}

std::set<Candidate, std::greater<>> candidates(const Nodes& nodes) {
  std::set<Candidate, std::greater<>> found;
  for (const auto& node : nodes)
    for (const auto& retained : node.offer.parts)
      if (retained.applied)
        found.insert({retained.step, retained.shards});
  return found;
}

std::vector<std::int32_t> held_by(const NodeInfo& node, const Candidate& candidate) {
  for (const auto& retained : node.offer.parts)
    if (is_of(retained, candidate))
      return retained.retained;
  return {};
}

/// Returns the first shard that no node has; none: all exist.
std::optional<std::int32_t> missing(const Nodes& nodes, const Candidate& candidate) {
  std::set<std::int32_t> there;
  for (const auto& node : nodes)
    for (const auto shard : held_by(node, candidate))
      there.insert(shard);
  for (std::int32_t shard = 0; shard < candidate.shards; ++shard)
    if (!there.contains(shard))
      return shard;
  return std::nullopt;
}

/// Returns the latest state that the nodes hold together; none: a node has a later one whole.
std::optional<Candidate> furthest(const Nodes& nodes) {
  const auto whole = std::ranges::max(nodes, {}, [](const auto& node) { return node.offer.step; });
  for (const auto& candidate : candidates(nodes))
    if (candidate.step >= whole.offer.step && !missing(nodes, candidate))
      return candidate;
  return std::nullopt;
}

/// Adds the node's shards to `there`. Returns whether one of them is new.
bool adds_shards(const NodeInfo& node, const Candidate& state, std::set<std::int32_t>& there) {
  const auto before = there.size();
  for (const auto shard : held_by(node, state))
    there.insert(shard);
  return there.size() > before;
}

} // namespace

std::vector<NodeInfo> MemberList::by_need(const Nodes& nodes) {
  if (nodes.empty())
    return {};
  const auto state = furthest(nodes);
  const auto whole =
      std::ranges::max_element(nodes, {}, [](const NodeInfo& node) { return node.offer.step; });
  std::set<std::int32_t> there;
  Nodes needed, others;
  for (auto node = nodes.begin(); node != nodes.end(); ++node) {
    const bool is_needed = state ? adds_shards(*node, *state, there) : node == whole;
    (is_needed || node == nodes.begin() ? needed : others).push_back(*node);
  }
  needed.insert(needed.end(), others.begin(), others.end());
  return needed;
}

std::int64_t MemberList::furthest_step(const Nodes& nodes) {
  if (nodes.empty())
    return -1;
  if (const auto together = furthest(nodes))
    return together->step;
  return std::ranges::max(nodes, {}, [](const auto& node) { return node.offer.step; }).offer.step;
}

void MemberList::choose_state(training::GenerationRecord& generation) const {
  for (const auto& candidate : candidates(nodes_)) {
    if (candidate.step < generation.step)
      return;
    if (missing(nodes_, candidate))
      continue;
    generation.step = candidate.step;
    generation.shards = candidate.shards;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      generation.nodes[i].lacks_state = false;
      generation.nodes[i].retained = held_by(nodes_[i], candidate);
    }
    return;
  }
}

std::string MemberList::lost(const training::GenerationRecord& generation) const {
  const auto offered = candidates(nodes_);
  if (generation.shards > 0 || offered.empty() || offered.begin()->step <= generation.step)
    return {};
  const auto& furthest = *offered.begin();
  const auto shard = missing(nodes_, furthest);
  return fmt::format(
      "shard {} of {} of the state after {} steps is lost: the job {}", shard.value_or(0) + 1,
      furthest.shards, furthest.step,
      generation.step > 0
          ? fmt::format("continues from the last checkpoint, at step {}", generation.step)
          : "starts over, because there is no checkpoint");
}

} // namespace troupe::actors
