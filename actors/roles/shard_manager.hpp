/// SHARD MANAGER: gives a worker the parameters it asks for, bucket by bucket; sums its gradients
/// over passes and ranks while backward goes on; applies the optimizer. What each strategy does in
/// these moments is Exchange's.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/roles/detail/diloco_rounds.hpp"
#include "actors/roles/detail/state_saver.hpp"
#include "training/reducer/reducer.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::actors {

struct ShardManagerSetup {
  training::GradientReducerSetup reducer;
  Pass first_pass = 0;
  StateSaverSetup saver;
  std::optional<DilocoRoundsSetup> replica_groups = {}; ///< where those train apart
  metrics::Track row = {};                              ///< of the actor in the timeline
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
  struct InFlightStep {
    training::Collectives collectives;
    std::optional<WorkerStep> worker;
    SpansPtr computing;
    bool applied = false;
    EventPtr made; ///< its optimizer has run; what is published behind that may still fail
    std::shared_ptr<training::StepResults> found = std::make_shared<training::StepResults>();
  };
  /// The bucket that was opened last, what for, and when it can be used.
  struct Opened {
    std::size_t bucket;
    ParameterRequest request;
    EventPtr event;
  };

  void answer_requests();
  bool admit(const ParameterRequest& request);
  bool is_open(const ParameterRequest& request, std::size_t bucket) const;
  void open(const ParameterRequest& request, std::size_t bucket);
  void gather(const ParameterRequest& request, std::size_t bucket);
  EventPtr event_for(const ParameterRequest& request);
  training::Collectives& collectives_of(std::int64_t step);
  void released(const ParameterRequest& request, const EventPtr& event);
  void release(const EventPtr& event);
  /// Whether a bucket takes a place in the window for this use.
  bool takes_place(const ParameterRequest& request) const;

  void gradients_ready(Pass pass, UnitId unit, const EventPtr& event);
  void finish_bucket(Pass pass, const collectives::Bucket& bucket, const EventPtr& event);
  void finish_step(std::int64_t step);
  void publish(const collectives::Bucket& bucket, training::Collectives& done);
  void commit_if_done(std::int64_t step);
  StepReport report_of(const InFlightStep& in_flight) const;
  void add_round(StepReport& report, const InFlightStep& in_flight);
  bool is_committed(const InFlightStep& in_flight) const;
  void report_what_was_made();
  Status check_loss(const InFlightStep& in_flight) const;
  caf::result<void> abort(const Error& reason);
  caf::result<void> synchronize(std::int64_t steps);
  void synchronize_if_settled();
  void deliver(const collectives::MessagePtr& message);
  bool begins(std::int64_t step);
  void end_round(std::int64_t step);
  double weight() const;
  void evaluate(std::int64_t step);
  void fail(Error error);

  const data::SliceAssignment& slice_assignment() const { return reducer_.slice_assignment(); }
  training::RankState& rank_state() const { return *setup_.reducer.rank_state; }
  const collectives::Strategy& strategy() const { return reducer_.strategy(); }
  std::size_t bucket_of(UnitId unit) const {
    return reducer_.plan().bucket_of[static_cast<std::size_t>(unit)];
  }

  shard_manager_actor::pointer self_;
  ShardManagerSetup setup_;
  training::GradientReducer reducer_;
  StateSaver saver_;
  std::optional<DilocoRounds> rounds_; ///< where teams train apart
  worker_actor worker_;
  Pass pass_; ///< whose gradients came last
  std::deque<ParameterRequest> requests_;
  std::optional<Opened> opened_;
  std::deque<std::size_t> open_; ///< buckets that have a place in the window; released in order
  EventPtr last_release_;        ///< of the worker's stream
  EventPtr last_reduced_;        ///< of the communication stream, after a bucket of gradients
  std::vector<bool> gathered_;   ///< by bucket: gathered since parameters changed, and kept
  std::vector<EventPtr> ready_;  ///< by bucket: when parameters that are kept whole are there
  std::map<std::int64_t, InFlightStep> in_flight_;
  bool failed_ = false; ///< a collective has
  struct Synchronization {
    std::int64_t steps;
    caf::typed_response_promise<void> promise;
  };
  std::optional<Synchronization>
      synchronization_; ///< of teams: what they have sent is still to come
  caf::typed_response_promise<void> aborted_;
};

} // namespace troupe::actors
