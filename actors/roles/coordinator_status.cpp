// COORDINATOR's reports on the job, to nodes and to `troupe status`.
#include "actors/roles/coordinator.hpp"
#include "metrics/text_figures.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe::actors {

void CoordinatorState::record_recovery() {
  const auto& change = setup_.generation.change;
  record(metrics::RecoveryRecord{
      .time = std::chrono::system_clock::now(),
      .generation = setup_.generation.number,
      .reason = change.reason,
      .is_loss = change.is_loss,
      .step = setup_.first_step,
      .steps_repeated = std::max<std::int64_t>(0, setup_.totals.committed - setup_.first_step),
      .world_size = setup_.generation.world_size(),
      .detect = change.detect,
      .halt = change.halt,
      .heal = setup_.heal,
      .connect = setup_.connect,
      .first_step = seconds(Clock::now() - made_)});
}

void CoordinatorState::record_step(const std::vector<StepReport>& reports) {
  CollectiveTime collective;
  auto row = summarize(reports, collective);
  const auto step = row.step;
  row.epoch = setup_.plan.epoch_of(step);
  row.time = std::chrono::system_clock::now();
  row.lr = setup_.learning_rate(step);
  if (async_)
    row.item_seconds = async_->items.take_longest(step);
  if (setup_.records_reads)
    for (const auto& report : reports) {
      std::ranges::copy(report.rounds, std::back_inserter(row.rounds));
      if (async_)
        row.reads.push_back(report.reads);
    }
  if (const auto& assignment = balancer_.slice_assignment();
      balancer_.reassigns() && step == std::max(setup_.first_step, assignment.first_step()))
    row.slice_assignment = assignment.counts();
  const auto now = Clock::now();
  row.seconds = seconds(now - std::exchange(last_commit_, now));
  steps_.seconds += row.seconds;
  row.peak_operations = ranks_.peak_operations();
  if (row.peak_operations > 0 && row.seconds > 0)
    row.mfu = setup_.info.operations_per_step / row.seconds / row.peak_operations;
  totals_.add(row, collective);
  record(std::move(row));
  if (setup_.plan.epoch_ends(step + 1) && !setup_.plan.evaluation_due(step + 1))
    record(totals_.end_epoch({.epoch = setup_.plan.epoch_of(step), .step = step}));
  if (step == setup_.first_step && !setup_.generation.is_first())
    record_recovery();
  tell_workers_status();
}

/// Shows the job's phase on every node. Peak rates are measured in pauses.
void CoordinatorState::enter(Phase phase) {
  phase_ = phase;
  if (phase != Phase::training &&
      std::exchange(ranks_.measured, steps_.committed) != steps_.committed)
    // One rank of a node measures, because the node's ranks share the processors.
    for (const auto* rank : ranks_.one_per_node())
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
  auto all = ranks_.summaries(steps_.seconds);
  for (const auto& worker : all)
    if (const auto& metrics = ranks_.all.at(worker.rank).metrics; metrics != setup_.metrics)
      by_node[metrics].push_back(worker);
  by_node[setup_.metrics] = std::move(all);
  for (auto& [metrics, workers] : by_node)
    self_->send(metrics, atom::status_v, std::move(workers));
}

JobStatus CoordinatorState::status() const {
  constexpr const char* phases[] = {"joining", "training",  "evaluating", "sampling",
                                    "saving",  "finishing", "ended"};
  const auto samples_per_second = totals_.samples_per_second();
  return {.name = setup_.info.name,
          .phase = phases[static_cast<std::size_t>(phase_)],
          .generation = setup_.generation.number,
          .step = steps_.committed,
          .total_steps = setup_.plan.total_steps(),
          .epoch = setup_.plan.epoch_of(std::min(steps_.committed, setup_.plan.total_steps() - 1)),
          .world_size = setup_.generation.world_size(),
          .loss = totals_.summary.loss,
          .samples_per_second = samples_per_second,
          .tokens_per_second = metrics::tokens_per_second(setup_.info, samples_per_second),
          .error = totals_.summary.error,
          .nodes = ranks_.node_statuses(setup_.info.version)};
}

} // namespace troupe::actors
