#include "actors/roles/metrics_role.hpp"

#include "actors/roles/traced.hpp"

#include <spdlog/spdlog.h>

namespace troupe::actors {

MetricsState::MetricsState(metrics_actor::pointer self, MetricsSetup setup)
    : self_{self}, view_{std::move(setup.view)}, sampler_{std::move(setup.sampler)},
      address_{std::move(setup.address)}, trace_{std::move(setup.trace)}, row_{trace_.track(
                                                                              training::node_rows,
                                                                              name)} {}

metrics_actor::behavior_type MetricsState::make_behavior() {
  self_->send(self_, atom::tick_v);
  return traced<metrics_actor>(
      row_,
      [this](atom::join, const std::vector<NodeStatus>& nodes, const heartbeat_actor& leader) {
        view_->show(nodes);
        leader_ = leader;
        fetch_lines();
      },
      [this](atom::alive, const std::string& address) { view_->show_heartbeat(address); },
      [this](atom::fetch,
             const metrics::HistoryPlace& there) -> caf::result<metrics::HistoryChunk> {
        auto& follower = followers_.emplace_back(
            Follower{there, self_->make_response_promise<metrics::HistoryChunk>()});
        auto lines = follower.lines;
        tell_lines();
        return lines;
      },
      [this](atom::record, const RunRecordPtr& event) {
        std::visit([this](const auto& record) { view_->record(record); }, *event);
        tell_lines();
      },
      [this](atom::status, const WorkerSummaries& workers) {
        for (const auto& worker : workers)
          view_->record(worker);
      },
      [this](atom::status, metrics::JobPhase phase) { view_->enter(phase); },
      [this](atom::failed, double loss) { view_->registry().record_failed_loss(loss); },
      [this](atom::failed, std::int64_t steps, const Error& why) {
        view_->log().error("the sample of step {} was not written: {}", steps, why.to_string());
      },
      [this](atom::tick) {
        sample();
        self_->delayed_send(self_, std::chrono::seconds{1}, atom::tick_v);
      },
      [this](atom::finish, const RunOutcomePtr& outcome) {
        sample();
        return RunOutcomePtr{std::make_shared<const RunOutcome>(view_->finish(*outcome))};
      },
      [this](atom::release) {
        view_->end_generation();
        self_->quit(caf::exit_reason::user_shutdown);
        return std::exchange(view_, nullptr);
      });
}

void MetricsState::fetch_lines() {
  const auto place = view_ ? view_->lines().place() : std::nullopt;
  if (!place)
    return;
  self_->request(leader_, caf::infinite, atom::fetch_v, *place)
      .then(
          [this](const metrics::HistoryChunk& part) {
            if (!view_)
              return;
            view_->lines().keep(part);
            fetch_lines();
          },
          [](const caf::error&) {}); // the leader, or its generation, is gone
}

/// Sends each follower the lines that it does not have yet. Followers without new lines keep
/// waiting.
void MetricsState::tell_lines() {
  std::erase_if(followers_, [this](Follower& follower) {
    auto part = view_->lines().lines_after(follower.there);
    const bool has_more = !part.bytes.empty();
    if (has_more)
      follower.lines.deliver(std::move(part));
    return has_more;
  });
}

void MetricsState::sample() {
  if (leader_)
    self_->send(leader_, atom::alive_v, address_);
  sampler_.sample(view_->registry());
  view_->refresh(sampler_.actors(self_->system()));
  view_->errors().warn(trace_.flush());
}

} // namespace troupe::actors
