#include "actors/roles/detail/joined_ranks.hpp"

#include "actors/membership/blame.hpp"
#include "actors/roles/detail/step_summary.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace troupe::actors {

void JoinedRank::add(const StepReport& report) {
  ++steps;
  busy += report.worker.busy;
  data_wait += report.worker.data_wait;
  collectives += collective_time(report) - report.overlapped;
  optimizer += report.optimizer;
  ready_batches = report.worker.ready_batches;
  memory = report.memory;
}

metrics::WorkerSummary JoinedRank::summary(double step_seconds) const {
  const auto peak = [this](MemoryKind kind) { return memory.peak[static_cast<std::size_t>(kind)]; };
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

std::vector<const JoinedRank*> JoinedRanks::one_per_node() const {
  std::vector<const JoinedRank*> firsts;
  for (const auto& [rank, joined] : ranks_)
    if (rank == generation_.node_of(rank).first_rank)
      firsts.push_back(&joined);
  return firsts;
}

std::vector<std::string> JoinedRanks::nodes_behind() const {
  std::vector<std::pair<std::string, std::int64_t>> reached;
  for (const auto& place : generation_.nodes) {
    auto least = std::numeric_limits<std::int64_t>::max();
    for (auto rank = place.first_rank; rank < place.first_rank + place.workers; ++rank)
      if (const auto joined = ranks_.find(rank); joined != ranks_.end())
        least = std::min(least, 2 * joined->second.steps + (interrupted_.contains(rank) ? 1 : 0));
    reached.emplace_back(place.address, least);
  }
  return find_behind(reached);
}

void JoinedRanks::take_peak(std::int32_t rank, double operations) {
  for (auto& [other, joined] : ranks_)
    if (generation_.index_of(other) == generation_.index_of(rank))
      joined.info.peak_operations = std::max(joined.info.peak_operations, operations);
}

double JoinedRanks::peak_operations() const {
  double sum = 0;
  for (const auto& [rank, joined] : ranks_) {
    if (joined.info.peak_operations <= 0)
      return 0;
    sum += joined.info.peak_operations;
  }
  return sum;
}

std::vector<metrics::NodeRecord> JoinedRanks::node_statuses(const std::string& version) const {
  std::vector<metrics::NodeRecord> nodes;
  for (const auto& place : generation_.nodes)
    nodes.push_back(
        {.name = place.host, .address = place.address, .version = version, .state = "joining"});
  for (const auto& [rank, joined] : ranks_) {
    auto& node = nodes[generation_.index_of(rank)];
    node.page = joined.info.metrics;
    node.state = "active";
    node.devices.push_back(joined.info.device);
    node.ranks.push_back(rank);
  }
  return nodes;
}

WorkerSummaries JoinedRanks::summaries(double step_seconds) const {
  WorkerSummaries all;
  for (const auto& [rank, joined] : ranks_)
    all.push_back(joined.summary(step_seconds));
  return all;
}

} // namespace troupe::actors
