/// Processes that have asked to join before.
#pragma once

#include "actors/membership/actions.hpp"
#include "actors/membership/job_state.hpp"
#include "actors/membership/recent.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace troupe::actors {

class JoinHistory {
public:
  /// Both outlive this object.
  JoinHistory(const JobState& job, Actions& actions) : job_{job}, actions_{actions} {}

  /// Whether the request is a replay: each process numbers its requests, and they arrive in order.
  bool is_replay(const NodeInfo& info) const;
  void note_attempt(const NodeInfo& info) { attempts_[info.process] = info.attempt; }

  /// A dismissed process is not admitted again.
  void dismiss(const std::string& process) { dismissed_.insert(process); }
  bool was_dismissed(const std::string& process) const { return dismissed_.contains(process); }

  /// A process that is left out may join again, with its next request.
  void leave_out(const std::string& process, NodeId node) { left_out_[process] = node; }
  /// Returns whether the process was left out before.
  bool returns(const std::string& process) { return left_out_.erase(process) > 0; }
  std::vector<NodeId> left_out() const;
  bool has_left_out(NodeId node) const;

  training::NodeAssignment refusal_of(const NodeInfo& info, const Error& error) const;
  /// Logs the same problem of a node at most once a minute, because the node may ask repeatedly.
  void report_problem(const std::string& node, const std::string& problem);

private:
  const JobState& job_;
  Actions& actions_;
  std::map<std::string, std::int64_t> attempts_ = {}; ///< last join request, by process
  std::set<std::string> dismissed_ = {};              ///< processes
  std::map<std::string, NodeId> left_out_ = {};       ///< by process
  Recent problems_reported_ = {};                     ///< by node
};

} // namespace troupe::actors
