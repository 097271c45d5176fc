#include "actors/roles/metrics_role.hpp"

#include "actors/roles/traced.hpp"

#include <spdlog/spdlog.h>

namespace troupe::actors {

metrics_actor::behavior_type MetricsState::make_behavior() {
  self_->send(self_, atom::tick_v);
  return traced<metrics_actor>(
      row_,
      [this](atom::join, const std::vector<metrics::NodeRecord>& nodes,
             const heartbeat_actor& leader) {
        setup_.view->show(nodes);
        leader_ = leader;
        fetch_lines();
      },
      [this](atom::alive, const std::string& address) { setup_.view->show_heartbeat(address); },
      [this](atom::fetch,
             const metrics::HistoryPlace& there) -> caf::result<metrics::HistoryChunk> {
        auto& follower = followers_.emplace_back(
            Follower{there, self_->make_response_promise<metrics::HistoryChunk>()});
        auto lines = follower.lines;
        tell_lines();
        return lines;
      },
      [this](atom::record, const RunRecordPtr& event) {
        std::visit([this](const auto& record) { setup_.view->record(record); }, *event);
        tell_lines();
      },
      [this](atom::status, const WorkerSummaries& workers) {
        for (const auto& worker : workers)
          setup_.view->record(worker);
      },
      [this](atom::status, metrics::JobPhase phase) { setup_.view->enter(phase); },
      [this](atom::failed, double loss) { setup_.view->registry().record_failed_loss(loss); },
      [this](atom::failed, std::int64_t steps, const Error& why) {
        setup_.view->log().error("the sample of step {} was not written: {}", steps,
                                 why.to_string());
      },
      [this](atom::tick) {
        sample();
        self_->delayed_send(self_, std::chrono::seconds{1}, atom::tick_v);
      },
      [this](atom::finish, const RunOutcomePtr& outcome) {
        sample();
        return RunOutcomePtr{std::make_shared<const RunOutcome>(setup_.view->finish(*outcome))};
      },
      [this](atom::release) {
        setup_.view->end_generation();
        self_->quit(caf::exit_reason::user_shutdown);
        return std::exchange(setup_.view, nullptr);
      });
}

void MetricsState::fetch_lines() {
  const auto place = setup_.view ? setup_.view->lines().place() : std::nullopt;
  if (!place)
    return;
  self_->request(leader_, caf::infinite, atom::fetch_v, *place)
      .then(
          [this](const metrics::HistoryChunk& part) {
            if (!setup_.view)
              return;
            setup_.view->lines().keep(part);
            fetch_lines();
          },
          [](const caf::error&) {}); // the leader, or its generation, is gone
}

/// Sends each follower the lines that it does not have yet. Followers without new lines keep
/// waiting.
void MetricsState::tell_lines() {
  std::erase_if(followers_, [this](Follower& follower) {
    auto part = setup_.view->lines().lines_after(follower.there);
    const bool has_more = !part.bytes.empty();
    if (has_more)
      follower.lines.deliver(std::move(part));
    return has_more;
  });
}

void MetricsState::sample() {
  if (leader_)
    self_->send(leader_, atom::alive_v, setup_.address);
  setup_.sampler.sample(setup_.view->registry());
  setup_.view->refresh(setup_.sampler.actors(self_->system()));
  setup_.view->errors().warn(setup_.trace.flush());
}

} // namespace troupe::actors
