#include "metrics_role.hpp"

#include "detail/mailboxes.hpp"
#include "traced.hpp"

namespace troupe::actors {

MetricsState::MetricsState(metrics_actor::pointer self, std::unique_ptr<RunView> view,
                           const metrics::Trace& trace)
    : self_{self}, view_{std::move(view)}, trace_{trace}, row_{trace.track(engine::node_rows,
                                                                           name)} {}

metrics_actor::behavior_type MetricsState::make_behavior() {
  self_->send(self_, atom::tick_v);
  return traced<metrics_actor>(
      row_, [this](atom::join, const std::vector<NodeStatus>& nodes) { view_->show(nodes); },
      [this](atom::step_committed, const StepRecordPtr& step) { view_->show(*step); },
      [this](atom::evaluated, const EpochRecordPtr& epoch) { view_->show(*epoch); },
      [this](atom::status, const WorkerSummaries& workers) {
        for (const auto& worker : workers)
          view_->show(worker);
      },
      [this](atom::status, metrics::JobPhase phase) { view_->show(phase); },
      [this](atom::failed, double loss) { view_->show_failed_loss(loss); },
      [this](atom::saved, const CheckpointOutcome& checkpoint) { view_->show(checkpoint); },
      [this](atom::tick) {
        sample();
        self_->delayed_send(self_, std::chrono::seconds{1}, atom::tick_v);
      },
      [this](atom::finish, const RunOutcomePtr& outcome) {
        sample();
        return RunOutcomePtr{std::make_shared<const RunOutcome>(view_->finish(*outcome))};
      });
}

void MetricsState::sample() {
  for (const auto& mailbox : sample_mailboxes(self_->system()))
    view_->show(mailbox);
  view_->show_unreadable();
  view_->warn_once(trace_.flush());
}

} // namespace troupe::actors
