/// SHARD MANAGER: gives a worker the parameters it asks for, bucket by bucket; sums its gradients
/// over passes and ranks while backward goes on; applies the optimizer. What each strategy does in
/// these moments is Exchange's.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/roles/detail/state_saver.hpp"
#include "actors/roles/detail/team_rounds.hpp"
#include "engine/exchange/exchange.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::actors {

struct ShardManagerSetup {
  engine::ExchangeSetup exchange;
  Pass first_pass = 0;
  StateSaverSetup saver;
  std::optional<TeamRoundsSetup> teams = {}; ///< where those train apart
  metrics::Track row = {};                   ///< of the actor in the timeline
};

/// All of a pass's requests come before its gradients, and all messages of a pass from one sender:
/// collectives are enqueued in an order that depends on nothing else, so it is every rank's.
class ShardManagerState {
public:
  static inline const char* name = "shard_manager";

  ShardManagerState(shard_manager_actor::pointer self, ShardManagerSetup setup);
  shard_manager_actor::behavior_type make_behavior();

private:
  /// What is known of a step under way: it becomes a report when both the worker and the optimizer
  /// are done.
  struct Flight {
    engine::Collectives collectives;
    std::optional<WorkerStep> worker;
    SpansPtr computing;
    bool applied = false;
    EventPtr made; ///< its optimizer has run; what is published behind that may still fail
    std::shared_ptr<engine::StepFindings> found = std::make_shared<engine::StepFindings>();
  };
  /// The bucket that was opened last, what for, and when it can be used.
  struct Opened {
    std::size_t bucket;
    Use use;
    EventPtr event;
  };

  void answer_requests();
  bool admit(const Use& use);
  bool is_open(const Use& use, std::size_t bucket) const;
  void open(const Use& use, std::size_t bucket);
  void gather(const Use& use, std::size_t bucket);
  EventPtr event_for(const Use& use);
  engine::Collectives& collectives_of(std::int64_t step);
  void released(const Use& use, const EventPtr& event);
  void release(const EventPtr& event);
  /// Whether a bucket takes a place in the window for this use.
  bool takes_place(const Use& use) const;

  void gradients_ready(Pass pass, UnitId unit, const EventPtr& event);
  void finish_bucket(Pass pass, const collectives::Bucket& bucket, const EventPtr& event);
  void finish_step(std::int64_t step);
  void publish(const collectives::Bucket& bucket, engine::Collectives& done);
  void commit_if_done(std::int64_t step);
  StepReport report_of(const Flight& flight) const;
  void add_round(StepReport& report, const Flight& flight);
  bool is_committed(const Flight& flight) const;
  void report_what_was_made();
  Status check_loss(const Flight& flight) const;
  caf::result<void> abort(const Error& reason);
  caf::result<void> meet(std::int64_t steps);
  void meet_if_settled();
  void deliver(const collectives::MailPtr& mail);
  bool begins(std::int64_t step);
  void end_round(std::int64_t step);
  double weight() const;
  void evaluate(std::int64_t step);
  void fail(Error error);

  const data::Dealing& dealing() const { return exchange_.dealing(); }
  engine::Replica& replica() const { return *setup_.exchange.replica; }
  const collectives::Strategy& strategy() const { return exchange_.strategy(); }
  std::size_t bucket_of(UnitId unit) const {
    return exchange_.plan().bucket_of[static_cast<std::size_t>(unit)];
  }

  shard_manager_actor::pointer self_;
  ShardManagerSetup setup_;
  engine::Exchange exchange_;
  StateSaver saver_;
  std::optional<TeamRounds> rounds_; ///< where teams train apart
  worker_actor worker_;
  Pass pass_; ///< whose gradients came last
  std::deque<Use> requests_;
  std::optional<Opened> opened_;
  std::deque<std::size_t> open_; ///< buckets that have a place in the window; released in order
  EventPtr last_release_;        ///< of the worker's stream
  EventPtr last_reduced_;        ///< of the communication stream, after a bucket of gradients
  std::vector<bool> gathered_;   ///< by bucket: gathered since parameters changed, and kept
  std::vector<EventPtr> ready_;  ///< by bucket: when parameters that are kept whole are there
  std::map<std::int64_t, Flight> flights_;
  bool failed_ = false; ///< a collective has
  struct Meeting {
    std::int64_t steps;
    caf::typed_response_promise<void> promise;
  };
  std::optional<Meeting> meeting_; ///< of teams: what they have sent is still to come
  caf::typed_response_promise<void> aborted_;
};

} // namespace troupe::actors
