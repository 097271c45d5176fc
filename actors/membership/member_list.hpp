/// The nodes of a job: which ones to admit, whether they are enough, and their ranks.
#pragma once

#include "actors/cluster_messages.hpp"
#include "core/config/forward.hpp"
#include "training/node_assignment.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::actors {

/// Returns the config that all nodes of a job must share: all keys except those for a node's files,
/// devices and ports. Values are as in a config file; long ones are truncated, and end with a
/// digest.
std::map<std::string, std::string> shared_settings(const Config& config);

class MemberList {
public:
  explicit MemberList(std::int32_t min_nodes) : min_nodes_{min_nodes} {}

  /// Checks whether a node may take part in a job that has not begun. Error: invalid_input, with
  /// the differences (version, or keys with both values), or if its address is in use.
  Status check(const NodeInfo& node) const;
  /// Inserts a node at this index. The first is the leader, with which the others are compared.
  void admit(const NodeInfo& node, std::ptrdiff_t place);
  /// Compares a node with the leader. Error: invalid_input, with the differences. Precondition:
  /// there is a leader.
  Status check_same_job(const NodeInfo& node) const;
  /// Compares a node's training data with the job's. A witness has none. Error: data.
  static Status check_same_data(const NodeInfo& node, const training::TrainingData& job);
  /// Updates a node that has joined again for the next generation.
  void come_again(const NodeInfo& node);
  /// Removes a node that left.
  void remove(std::string_view address);
  /// Waits for this node to join again.
  void await(const std::string& address) { absent_.insert(address); }

  const std::vector<NodeInfo>& nodes() const { return nodes_; }
  bool has_enough() const { return std::ssize(nodes_) >= min_nodes_; }
  /// Stops waiting for it.
  void arrived(const std::string& address) { absent_.erase(address); }
  /// Nodes that have not joined again yet.
  const std::set<std::string>& absent() const { return absent_; }
  bool complete() const { return has_enough() && absent_.empty(); }
  /// "waiting for 1 more node (2 of 3: a:7401, b:7401)"; empty when complete.
  std::string waiting_for() const;
  /// Builds a generation of the nodes, in the order of their ranks, with the latest state: that of
  /// the first node that has it whole; or a divided state whose shards they hold together, if it is
  /// complete and no older. Precondition: there are nodes, and none is absent.
  training::GenerationRecord generation(std::int64_t number, std::string secret,
                                        std::int64_t slices) const;
  /// Sorts nodes: the leader first; then nodes without which the state that they hold together
  /// would be older; then the others. Keeps the order otherwise.
  static std::vector<NodeInfo> by_need(const std::vector<NodeInfo>& nodes);
  /// The step after which the nodes have the whole state, alone or together; below 0: none.
  static std::int64_t furthest_step(const std::vector<NodeInfo>& nodes);
  /// Explains why a generation resumes from an older state than the nodes have shards of; empty: it
  /// does not.
  std::string lost(const training::GenerationRecord& generation) const;

private:
  void choose_state(training::GenerationRecord& generation) const;

  std::int32_t min_nodes_;
  std::vector<NodeInfo> nodes_;
  std::set<std::string> absent_; ///< addresses
};

} // namespace troupe::actors
