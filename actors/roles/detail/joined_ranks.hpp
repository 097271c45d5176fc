/// The ranks that have joined COORDINATOR's generation.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/membership/blame.hpp"
#include "actors/roles/detail/step_summary.hpp"
#include "training/node_assignment.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
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
  void add(const StepReport& report) {
    ++steps;
    busy += report.worker.busy;
    data_wait += report.worker.data_wait;
    collectives += collective_time(report) - report.overlapped;
    optimizer += report.optimizer;
    ready_batches = report.worker.ready_batches;
    memory = report.memory;
  }
  metrics::WorkerSummary summary(double step_seconds) const {
    const auto peak = [&](MemoryKind of) { return memory.peak[static_cast<std::size_t>(of)]; };
    return {.rank = info.rank,
            .device = info.device,
            .peak_memory_bytes = memory.total_peak,
            .parameter_bytes = peak(MemoryKind::parameters),
            .gradient_bytes = peak(MemoryKind::gradients),
            .optimizer_bytes = peak(MemoryKind::optimizer),
            .busy_ratio = ratio(seconds(busy), step_seconds),
            .memory = memory,
            .steps = steps,
            .step_seconds = step_seconds,
            .compute_seconds = seconds(busy),
            .data_wait_seconds = seconds(data_wait),
            .collective_seconds = seconds(collectives),
            .optimizer_seconds = seconds(optimizer),
            .ready_batches = ready_batches,
            .memory_limit_bytes = info.memory_bytes,
            .peak_operations = info.peak_operations};
  }
};

struct JoinedRanks {
  const training::GenerationRecord& generation;
  /// Number of steps after which peak rates were last measured. They are first measured when the
  /// devices are opened.
  std::int64_t measured;
  std::map<std::int32_t, JoinedRank> all = {};
  std::set<std::int32_t> interrupted = {}; ///< have reported a failure between ranks

  /// The first rank of each node.
  std::vector<const JoinedRank*> one_per_node() const {
    std::vector<const JoinedRank*> firsts;
    for (const auto& [rank, joined] : all)
      if (rank == generation.node_of(rank).first_rank)
        firsts.push_back(&joined);
    return firsts;
  }
  /// Returns the addresses of the nodes that have not reached the collective in which others
  /// fail.
  std::vector<std::string> nodes_behind() const {
    std::vector<std::pair<std::string, std::int64_t>> reached;
    for (const auto& place : generation.nodes) {
      auto least = std::numeric_limits<std::int64_t>::max();
      for (auto rank = place.first_rank; rank < place.first_rank + place.workers; ++rank)
        if (const auto joined = all.find(rank); joined != all.end())
          least = std::min(least, 2 * joined->second.steps + (interrupted.contains(rank) ? 1 : 0));
      reached.emplace_back(place.address, least);
    }
    return find_behind(reached);
  }
  void take_peak(std::int32_t rank, double operations) {
    for (auto& [other, joined] : all)
      if (generation.has(rank) && generation.index_of(other) == generation.index_of(rank))
        joined.info.peak_operations = std::max(joined.info.peak_operations, operations);
  }
  /// Sums over the devices of all ranks; 0 if one is unknown.
  double peak_operations() const {
    double sum = 0;
    for (const auto& [rank, joined] : all) {
      if (joined.info.peak_operations <= 0)
        return 0;
      sum += joined.info.peak_operations;
    }
    return sum;
  }
  /// `version`: of the nodes' program.
  std::vector<metrics::NodeRecord> node_statuses(const std::string& version) const {
    std::vector<metrics::NodeRecord> nodes;
    for (const auto& place : generation.nodes)
      nodes.push_back(
          {.name = place.host, .address = place.address, .version = version, .state = "joining"});
    for (const auto& [rank, joined] : all) {
      auto& node = nodes[generation.index_of(rank)];
      node.page = joined.info.metrics;
      node.state = "active";
      node.devices.push_back(joined.info.device);
      node.ranks.push_back(rank);
    }
    return nodes;
  }
  WorkerSummaries summaries(double step_seconds) const {
    WorkerSummaries workers;
    for (const auto& [rank, joined] : all)
      workers.push_back(joined.summary(step_seconds));
    return workers;
  }
};

} // namespace troupe::actors
