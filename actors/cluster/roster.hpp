/// Which daemons take part in a job: whom to admit, when there are enough, who gets which ranks.
#pragma once

#include "cluster_messages.hpp"

#include "troupe/core/config/forward.hpp"
#include "troupe/engine/seat.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::actors {

/// What all nodes of a job must agree on: every key but those of where a node keeps its files, of
/// its devices and of its ports. Values as in a config file; of long ones the beginning, and their
/// digest.
std::map<std::string, std::string> shared_settings(const Config& config);

class Roster {
public:
  explicit Roster(std::int32_t min_nodes) : min_nodes_{min_nodes} {}

  /// Whether it may take part in a job that has not begun. Errors: invalid_input says what differs
  /// (version, or keys with both values), or that there is no place.
  Status check(const NodeInfo& node) const;
  /// The first is the leader, whom the others are compared with. Those from `place` on move by one.
  void admit(const NodeInfo& node, std::ptrdiff_t place);
  /// Error: what differs from the leader. Precondition: there is one.
  Status check_same_job(const NodeInfo& node) const;
  /// Error: data, where it has other training data than the job. A witness has none.
  static Status check_same_data(const NodeInfo& node, const engine::TrainingData& job);
  /// A node that is there already, and comes again for the next generation.
  void come_again(const NodeInfo& node);
  /// A node that left.
  void remove(std::string_view address);
  /// This node has to come again.
  void await(const std::string& address) { absent_.insert(address); }

  const std::vector<NodeInfo>& nodes() const { return nodes_; }
  std::int64_t workers() const;
  bool has_enough() const { return std::ssize(nodes_) >= min_nodes_; }
  /// It need not be awaited any more.
  void arrived(const std::string& address) { absent_.erase(address); }
  /// Those that have to come again.
  const std::set<std::string>& absent() const { return absent_; }
  bool complete() const { return has_enough() && absent_.empty(); }
  /// "waiting for 1 more node (2 of 3: a:7401, b:7401)"; empty when complete.
  std::string waiting_for() const;
  /// The nodes in the order in which they were admitted, with the state of the first of those that
  /// have come furthest; or with what they hold together of one that was divided, if that is all,
  /// and no older. Precondition: there are some, none absent.
  engine::GenerationRecord generation(std::int64_t number, std::string secret,
                                      std::int64_t slices) const;
  /// The leader first; then nodes without which the state they hold together would be older; then
  /// the others. Keeps the order otherwise.
  static std::vector<NodeInfo> by_need(const std::vector<NodeInfo>& nodes);
  /// The step after which the nodes have the whole state, alone or together; below 0: none.
  static std::int64_t furthest_step(const std::vector<NodeInfo>& nodes);
  /// Why a generation goes back to an older state than nodes have parts of; empty: it does not.
  std::string lost(const engine::GenerationRecord& generation) const;
  /// The offer of a generation's source.
  const StateOffer& offer(const engine::GenerationRecord& generation) const {
    return nodes_[static_cast<std::size_t>(generation.source)].offer;
  }

private:
  void choose_state(engine::GenerationRecord& generation) const;

  std::int32_t min_nodes_;
  std::vector<NodeInfo> nodes_;
  std::set<std::string> absent_; ///< addresses
};

} // namespace troupe::actors
