// COORDINATOR's reports on the job, to nodes and to `troupe status`.
#include "actors/roles/coordinator.hpp"
#include "metrics/text_figures.hpp"

#include <algorithm>
#include <utility>

namespace troupe::actors {

/// Shows the job's phase on every node. Peak rates are measured in pauses.
void CoordinatorState::enter(Phase phase) {
  phase_ = phase;
  if (phase != Phase::training && ranks_.must_measure(steps_.committed()))
    for (const auto* rank : ranks_.one_per_node()) // its ranks share the processors
      self_->send(rank->worker, atom::measure_v);
  const auto shown = phase == Phase::training     ? metrics::JobPhase::training
                     : phase == Phase::evaluating ? metrics::JobPhase::evaluating
                                                  : metrics::JobPhase::saving;
  for (const auto* rank : ranks_.one_per_node())
    self_->send(rank->metrics, atom::status_v, shown);
}

/// Shows all workers on the leader, and on every other node its own.
void CoordinatorState::tell_workers_status() {
  std::map<metrics_actor, WorkerSummaries> by_node;
  auto all = ranks_.summaries(tally_.step_seconds());
  for (const auto& worker : all)
    if (const auto& metrics = ranks_.at(worker.rank).metrics; metrics != setup_.metrics)
      by_node[metrics].push_back(worker);
  by_node[setup_.metrics] = std::move(all);
  for (auto& [metrics, workers] : by_node)
    self_->send(metrics, atom::status_v, std::move(workers));
}

JobStatus CoordinatorState::status() const {
  constexpr const char* phases[] = {"joining", "training",  "evaluating", "sampling",
                                    "saving",  "finishing", "ended"};
  const auto samples_per_second = tally_.samples_per_second();
  return {.name = setup_.info.name,
          .phase = phases[static_cast<std::size_t>(phase_)],
          .generation = setup_.generation.number,
          .step = steps_.committed(),
          .total_steps = setup_.plan.total_steps(),
          .epoch =
              setup_.plan.epoch_of(std::min(steps_.committed(), setup_.plan.total_steps() - 1)),
          .world_size = setup_.generation.world_size(),
          .loss = tally_.summary().loss,
          .samples_per_second = samples_per_second,
          .tokens_per_second = metrics::tokens_per_second(setup_.info, samples_per_second),
          .error = tally_.summary().error,
          .nodes = ranks_.node_statuses(setup_.info.version)};
}

} // namespace troupe::actors
