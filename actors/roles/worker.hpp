/// WORKER: enqueues forward and backward on one device, unit by unit, as batches and parameters
/// arrive.
#pragma once

#include "actors/interfaces.hpp"
#include "core/graph/precision.hpp"
#include "metrics/trace.hpp"
#include "training/rank_state.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>

namespace troupe::actors {

struct WorkerSetup {
  std::shared_ptr<training::RankState> rank_state;
  data::SliceAssignment slice_assignment = {};
  Pass first_pass = 0;
  std::int64_t test_batches = 0;         ///< of this rank's part of the test set
  bool scales_loss = false;              ///< SHARD MANAGER then handles a loss that is not finite
  Precision precision = Precision::fp32; ///< for the advice about a loss that is not finite
  /// Enqueues a measurement of the device's peak rate, and passes it to the function on the
  /// stream's thread; null: it is not measured.
  std::function<void(std::function<void(double)>)> measure_peak = {};
  data_loader_actor loader;
  shard_manager_actor shard_manager;
  coordinator_actor coordinator;
  metrics::Track row = {};        ///< of the actor in the timeline
  metrics::Track stream_row = {}; ///< of the compute stream
};

/// A pass begins when its batch has arrived and its step was granted. It requests all buckets,
/// forward and then backward, and enqueues the units of a bucket when its parameters are announced.
/// A single rank has nothing to overlap, and enqueues the whole pass at once. The worker never
/// blocks: the next pass begins as soon as this one is enqueued, and waits only for its parameters.
class WorkerState {
public:
  static inline const char* name = "worker";

  WorkerState(worker_actor::pointer self, WorkerSetup setup);
  worker_actor::behavior_type make_behavior();

private:
  /// The outputs of a pass in flight. The stream also keeps them alive until the device has written
  /// them.
  struct InFlightStep {
    MicroBatchPtr batch; ///< null: an empty pass
    StepOutputs outputs;
    std::uint64_t statistics_bytes = 0;                 ///< sent before the pass, then by it
    EventPtr asked, fed;                                ///< before and after the wait for data
    EventPtr begin;                                     ///< of what is being enqueued
    std::vector<std::pair<EventPtr, EventPtr>> running; ///< start and end of each enqueued unit
  };
  using InFlightSteps = std::map<std::int64_t, std::shared_ptr<InFlightStep>>;

  caf::result<void> assign(const data::SliceAssignment& next);
  void take(const MicroBatchPtr& batch);
  void ask_for_slice();
  void plan_asking(const InFlightStep& in_flight);
  void begin_pass();
  Status take_batch(InFlightStep& in_flight);
  void ask(PassMode pass_mode, std::int64_t index, Phase phase);
  void run_bucket(ParameterRequest request, const EventPtr& parameters);
  void forward(const ParameterRequest& request);
  void run_forward(const ParameterRequest& request);
  void backward(const ParameterRequest& request);
  void run_whole(Pass pass);
  void end_pass(Pass pass);
  void finish_pass(Pass pass);
  void settle_statistics(Pass pass);
  void add_outputs(const InFlightStep& in_flight);
  void finish_step(Pass last);
  void begin_evaluation(std::int64_t step, const EventPtr& statistics);
  void begin_test_batch();
  void test_unit(const ParameterRequest& request);
  void end_test_batch(std::int64_t index);
  void finish_test_batch(std::int64_t index);
  void announce_done(PassMode pass_mode, std::int64_t index,
                     std::shared_ptr<const InFlightStep> written);
  void set_gradient_mode(Pass pass);
  void fail_loss();
  void fail(Error error);
  /// Bytes sent so far for synchronized batch norms.
  std::uint64_t statistics_bytes() const;
  /// The label of a span in the stream's row.
  metrics::SpanLabel label(std::string_view what, const ParameterRequest& request) const;
  UnitId units() const;
  bool releases(UnitId unit) const;
  /// The local index of the pass among those of its step that this rank computes; below 0: the pass
  /// is empty.
  int local_index(Pass pass) const {
    return slice_assignment().local_index(rank_state().rank, pass);
  }
  /// Whether the pass refreshes the copies of the parameters. Parameters change between steps, not
  /// between the passes of one. An optimizer that writes the copies itself leaves nothing to
  /// refresh.
  bool refreshes(Pass pass) const {
    if (slice_assignment().is_on_demand()) // another version may have arrived
      return true;
    return local_index(pass) == 0 &&
           (slice_assignment().step_of(pass) == slice_assignment().step_of(setup_.first_pass) ||
            !rank_state().state->buffers().part().writes_copies());
  }
  /// Slices that are assigned one by one are granted with the assignment.
  bool is_granted(Pass pass) const {
    return slice_assignment().is_on_demand() || pass < slice_assignment().pass_of(limit_);
  }
  /// Only for buckets that are gathered and released.
  synchronous_shard_manager_actor gatherer() const {
    return caf::actor_cast<synchronous_shard_manager_actor>(setup_.shard_manager);
  }
  training::RankState& rank_state() const { return *setup_.rank_state; }
  Stream& stream() const { return *rank_state().compute; }
  const data::SliceAssignment& slice_assignment() const { return setup_.slice_assignment; }
  bool alone() const { return strategy().world_size == 1 && !strategy().offloads(); }
  const training::Strategy& strategy() const { return rank_state().state->layout().strategy(); }
  const training::FlatPlan& plan() const { return rank_state().state->layout().plan(); }

  worker_actor::pointer self_;
  WorkerSetup setup_;
  std::int64_t limit_ = 0; ///< steps below it are granted
  Pass next_pass_;
  bool enqueuing_ = false; ///< a pass waits for its parameters
  std::deque<MicroBatchPtr> batches_, test_batches_;
  InFlightSteps passes_, tests_;
  // In asynchronous training.
  UnitId ask_behind_ = 0; ///< unit after whose backward the next slice is requested
  std::optional<std::chrono::steady_clock::time_point>
      asked_;                           ///< for a slice, which has not arrived
  std::chrono::nanoseconds came_in_{};  ///< wait for the last slice with its batch and parameters
  std::chrono::nanoseconds comes_in_{}; ///< decaying maximum of these waits
  WorkerStep step_;
  std::vector<Span> computing_; ///< in the step
  EvaluationReport evaluation_;
  std::int64_t tested_ = 0;
  bool refreshed_ = false; ///< the evaluation has the parameters of its step
};

} // namespace troupe::actors
