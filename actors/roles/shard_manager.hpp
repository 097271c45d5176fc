/// SHARD MANAGER: provides a worker with parameters, bucket by bucket; sums its gradients over
/// passes and ranks while backward continues; applies the optimizer. GradientReducer implements the
/// strategies.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/roles/detail/diloco_rounds.hpp"
#include "actors/roles/detail/shard_manager_base.hpp"
#include "training/reducer/reducer.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::actors {

struct ShardManagerSetup {
  training::GradientReducerSetup reducer;
  Pass first_pass = 0;
  ShardManagerNeighbours others;
  std::optional<DilocoRoundsSetup> replica_groups = {}; ///< in training by replica groups (DiLoCo)
  metrics::Track row = {};                              ///< of the actor in the timeline
};

/// All requests of a pass arrive before its gradients, and all its messages have one sender. So the
/// order of the collectives depends only on the pass, and is the same on every rank.
class ShardManagerState : public ShardManagerBase {
public:
  ShardManagerState(synchronous_shard_manager_actor::pointer self, ShardManagerSetup setup);
  synchronous_shard_manager_actor::behavior_type make_behavior();

private:
  /// A step in flight. It becomes a report when both the worker and the optimizer are done.
  struct InFlightStep {
    training::StepWork work;
    std::optional<WorkerStep> worker;
    SpansPtr computing;
    bool applied = false;
    EventPtr made; ///< its optimizer has run; publishing the parameters may still fail
    std::shared_ptr<training::StepResults> found = std::make_shared<training::StepResults>();
  };
  /// The bucket that was opened last, for which request, and when it is usable.
  struct Opened {
    std::size_t bucket;
    ParameterRequest request;
    EventPtr event;
  };

  training::StateCopier copier(std::int64_t) override { return reducer_.copier(); }
  void answer_requests() override;
  bool admit(const ParameterRequest& request);
  bool is_open(const ParameterRequest& request, std::size_t bucket) const;
  void open(const ParameterRequest& request, std::size_t bucket);
  void gather(const ParameterRequest& request, std::size_t bucket);
  EventPtr event_for(const ParameterRequest& request);
  training::StepWork& work_of(std::int64_t step);
  void released(const ParameterRequest& request, const EventPtr& event);
  void release(const EventPtr& event);
  /// Whether this request takes a place in the window of open buckets.
  bool takes_place(const ParameterRequest& request) const;

  void gradients_ready(Pass pass, UnitId unit, const EventPtr& event) override;
  void finish_step(std::int64_t step);
  void commit_if_done(std::int64_t step);
  StepReport report_of(const InFlightStep& in_flight) const;
  void add_round(StepReport& report, const InFlightStep& in_flight);
  bool is_committed(const InFlightStep& in_flight) const;
  caf::result<void> abort(const Error& reason);
  caf::result<void> synchronize(std::int64_t steps);
  void synchronize_if_settled();
  void deliver(const collectives::MessagePtr& message) override;
  bool begins(std::int64_t step);
  double weight() const;
  void fail(Error error) override;

  const data::SliceAssignment& slice_assignment() const { return reducer_.slice_assignment(); }
  const training::Strategy& strategy() const { return reducer_.strategy(); }
  std::size_t bucket_of(UnitId unit) const {
    return reducer_.plan().bucket_of[static_cast<std::size_t>(unit)];
  }

  synchronous_shard_manager_actor::pointer self_;
  ShardManagerSetup setup_;
  training::GradientReducer reducer_;
  std::optional<DilocoRounds> rounds_; ///< in training by replica groups
  Pass pass_;                          ///< of the last gradients
  std::optional<Opened> opened_;
  std::deque<std::size_t> open_; ///< buckets in the window, in the order of their release
  EventPtr last_release_;        ///< of the worker's stream
  EventPtr last_reduced_;        ///< of the communication stream, after a bucket of gradients
  std::vector<bool> gathered_;   ///< by bucket: gathered since the parameters changed, and retained
  std::map<std::int64_t, InFlightStep> in_flight_;
  bool failed_ = false; ///< a collective has failed
  struct Synchronization {
    std::int64_t steps;
    caf::typed_response_promise<void> promise;
  };
  std::optional<Synchronization> synchronization_; ///< pending synchronization of replica groups,
                                                   ///< whose messages are still arriving
};

} // namespace troupe::actors
