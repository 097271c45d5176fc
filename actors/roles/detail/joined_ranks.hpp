/// The ranks that have joined COORDINATOR's generation.
#pragma once

#include "actors/interfaces.hpp"
#include "training/node_assignment.hpp"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace troupe::actors {

/// A rank's roles, and sums over the steps that it has reported.
struct JoinedRank {
  RankInfo info;
  worker_actor worker;
  shard_manager_actor shard_manager;
  metrics_actor metrics; ///< of the rank's node
  std::int64_t steps = 0;
  std::chrono::nanoseconds busy = {}, data_wait = {}, collectives = {}; ///< not overlapped
  std::chrono::nanoseconds optimizer = {}; ///< while the rank did not compute
  std::int64_t ready_batches = 0;          ///< when the last step ended
  MemoryUse memory = {};

  // The strategy of the job tells which of the two `shard_manager` is.
  synchronous_shard_manager_actor synchronous() const {
    return caf::actor_cast<synchronous_shard_manager_actor>(shard_manager);
  }
  parameter_server_actor parameter_server() const {
    return caf::actor_cast<parameter_server_actor>(shard_manager);
  }
  void add(const StepReport& report);
  metrics::WorkerSummary summary(double step_seconds) const;
};

class JoinedRanks {
public:
  /// `generation` must outlive it. Peak rates were measured before `first_step`, when the devices
  /// were opened.
  JoinedRanks(const training::GenerationRecord& generation, std::int64_t first_step)
      : generation_{generation}, measured_{first_step} {}

  void join(JoinedRank rank) {
    auto& place = ranks_[rank.info.rank];
    place = std::move(rank);
  }
  bool are_all() const { return std::ssize(ranks_) == generation_.world_size(); }
  bool has(std::int32_t rank) const { return ranks_.contains(rank); }
  const JoinedRank& at(std::int32_t rank) const { return ranks_.at(rank); }
  std::size_t size() const { return ranks_.size(); }
  auto begin() const { return ranks_.begin(); }
  auto end() const { return ranks_.end(); }
  /// The first rank of each node.
  std::vector<const JoinedRank*> one_per_node() const;

  /// Adds a report of a rank that has joined.
  void add(const StepReport& report) { ranks_.at(report.rank).add(report); }
  /// Notes that a rank has reported a failure between ranks. Returns whether it is the first one.
  bool interrupt(std::int32_t rank) {
    const bool is_first = interrupted_.empty();
    interrupted_.insert(rank);
    return is_first;
  }
  /// Returns the addresses of the nodes that have not reached the collective in which others fail.
  std::vector<std::string> nodes_behind() const;

  /// Whether peak rates were not yet measured after this number of steps. They are from now on.
  bool must_measure(std::int64_t steps) { return std::exchange(measured_, steps) != steps; }
  void take_peak(std::int32_t rank, double operations);
  /// Sums over the devices of all ranks; 0 if one is unknown.
  double peak_operations() const;

  /// `version`: of the nodes' program.
  std::vector<metrics::NodeRecord> node_statuses(const std::string& version) const;
  WorkerSummaries summaries(double step_seconds) const;

private:
  const training::GenerationRecord& generation_;
  std::map<std::int32_t, JoinedRank> ranks_;
  std::set<std::int32_t> interrupted_;
  std::int64_t measured_; ///< number of steps after which peak rates were last measured
};

} // namespace troupe::actors
