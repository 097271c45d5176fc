// COORDINATOR's reports on the job, to nodes and to `troupe status`.
#include "actors/roles/coordinator.hpp"
#include "actors/roles/detail/step_summary.hpp"
#include "metrics/text_figures.hpp"

#include <algorithm>
#include <utility>

namespace troupe::actors {

/// Shows the job's phase on every node. Peak rates are measured in pauses.
void CoordinatorState::enter(Phase phase) {
  phase_ = phase;
  if (phase != Phase::training && std::exchange(measured_, committed_) != committed_)
    measure_peaks();
  const auto shown = phase == Phase::training     ? metrics::JobPhase::training
                     : phase == Phase::evaluating ? metrics::JobPhase::evaluating
                                                  : metrics::JobPhase::saving;
  for (const auto& [rank, member] : members_)
    if (rank == setup_.generation.node_of(rank).first_rank)
      self_->send(member.metrics, atom::status_v, shown);
}

/// Shows all workers on the leader, and on every other node its own.
void CoordinatorState::tell_workers_status() {
  std::map<metrics_actor, WorkerSummaries> by_node;
  auto all = worker_summaries();
  for (const auto& worker : all)
    if (const auto& metrics = members_.at(worker.rank).metrics; metrics != setup_.metrics)
      by_node[metrics].push_back(worker);
  by_node[setup_.metrics] = std::move(all);
  for (auto& [metrics, workers] : by_node)
    self_->send(metrics, atom::status_v, std::move(workers));
}

JobStatus CoordinatorState::status() const {
  constexpr const char* phases[] = {"joining", "training",  "evaluating", "sampling",
                                    "saving",  "finishing", "ended"};
  const auto samples_per_second =
      ratio(static_cast<double>(totals_.steps.samples), totals_.steps.seconds);
  return {.name = setup_.info.name,
          .phase = phases[static_cast<std::size_t>(phase_)],
          .generation = setup_.generation.number,
          .step = committed_,
          .total_steps = setup_.plan.total_steps(),
          .epoch = setup_.plan.epoch_of(std::min(committed_, setup_.plan.total_steps() - 1)),
          .world_size = world_size(),
          .loss = summary_.loss,
          .samples_per_second = samples_per_second,
          .tokens_per_second = metrics::tokens_per_second(setup_.info, samples_per_second),
          .error = summary_.error,
          .nodes = node_statuses()};
}

std::vector<metrics::NodeRecord> CoordinatorState::node_statuses() const {
  std::vector<metrics::NodeRecord> nodes;
  for (const auto& place : setup_.generation.nodes)
    nodes.push_back({.name = place.host,
                     .address = place.address,
                     .version = setup_.info.version,
                     .state = "joining"});
  for (const auto& [rank, member] : members_) {
    auto& node = nodes[setup_.generation.index_of(rank)];
    node.page = member.info.metrics;
    node.state = "active";
    node.devices.push_back(member.info.device);
    node.ranks.push_back(rank);
  }
  return nodes;
}

WorkerSummaries CoordinatorState::worker_summaries() const {
  WorkerSummaries workers;
  for (const auto& [rank, member] : members_)
    workers.push_back(member.summary(step_seconds_));
  return workers;
}

metrics::WorkerSummary CoordinatorState::Member::summary(double step_seconds) const {
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

} // namespace troupe::actors
