#include "actors/membership/join_history.hpp"

#include <algorithm>

namespace troupe::actors {

bool JoinHistory::is_replay(const NodeInfo& info) const {
  const auto last = attempts_.find(info.process);
  return last != attempts_.end() && info.attempt <= last->second;
}

std::vector<NodeId> JoinHistory::left_out() const {
  std::vector<NodeId> nodes;
  for (const auto& [process, node] : left_out_)
    nodes.push_back(node);
  return nodes;
}

bool JoinHistory::has_left_out(NodeId node) const {
  return std::ranges::any_of(left_out_, [&](const auto& out) { return out.second == node; });
}

/// A node that was left out waits before it asks again.
training::NodeAssignment JoinHistory::refusal_of(const NodeInfo& info, const Error& error) const {
  return {.refused = error,
          .left_out = error.code == Errc::network && left_out_.contains(info.process)};
}

void JoinHistory::report_problem(const std::string& node, const std::string& problem) {
  if (problems_reported_.of(node, job_.now) == problem)
    return;
  problems_reported_.note(node, problem, job_.now);
  actions_.say(problem);
}

} // namespace troupe::actors
