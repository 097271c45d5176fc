/// WORKER: runs forward and backward of one device, unit by unit, as batches and parameters arrive.
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
  std::int64_t test_batches = 0; ///< of this rank's part of the test set
  bool scales_loss = false;      ///< a loss that is not finite is the shard manager's affair
  Precision precision = Precision::fp32; ///< what to say of a loss that is not finite
  /// Enqueues a measurement of the device's peak, which gets to the function on the stream's
  /// thread; null: the peak is not measured.
  std::function<void(std::function<void(double)>)> measure_peak = {};
  data_loader_actor loader;
  shard_manager_actor shard_manager;
  coordinator_actor coordinator;
  metrics::Track row = {};        ///< of the actor in the timeline
  metrics::Track stream_row = {}; ///< of what it has computed
};

/// A pass begins when its batch has come and its step has been granted; it asks for what all
/// buckets need, forward and then backward, and the units of each are enqueued when it is
/// announced. A rank that is alone has nothing to overlap, and enqueues the pass in one piece.
/// Nothing is waited for: the next pass begins as soon as this one is enqueued, and is held back by
/// its parameters alone.
class WorkerState {
public:
  static inline const char* name = "worker";

  WorkerState(worker_actor::pointer self, WorkerSetup setup);
  worker_actor::behavior_type make_behavior();

private:
  /// What the device writes while a pass is under way: the stream, too, keeps it until then.
  struct InFlightStep {
    MicroBatchPtr batch; ///< null: of an empty pass
    StepOutputs outputs;
    std::uint64_t statistics_bytes = 0;                 ///< sent before the pass, then by it
    EventPtr asked, fed;                                ///< before and after the wait for data
    EventPtr begin;                                     ///< of what is being enqueued
    std::vector<std::pair<EventPtr, EventPtr>> running; ///< begin and end of what was enqueued
  };
  using InFlightSteps = std::map<std::int64_t, std::shared_ptr<InFlightStep>>;

  caf::result<void> deal(const Reassignment& next);
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
  void measure_peak();
  void fail_loss(std::int64_t step);
  void fail(Error error);
  /// Micro-batches that are filled and that no pass has read.
  std::int64_t ready_batches() const;
  /// Sent so far for synchronized batch norms.
  std::uint64_t statistics_bytes() const;
  /// What the stream's row shows.
  metrics::SpanLabel label(std::string_view what, const ParameterRequest& request) const;
  UnitId units() const;
  bool releases(UnitId unit) const;
  /// Where the pass stands among those of its step in which this rank computes; below 0: it is
  /// empty.
  int turn(Pass pass) const { return slice_assignment().turn(setup_.rank_state->rank, pass); }
  /// Parameters change between steps, not between the passes of one. An optimizer that writes the
  /// copies of parameters leaves nothing to refresh.
  bool refreshes(Pass pass) const {
    if (slice_assignment().is_on_demand()) // another version may have come
      return true;
    return turn(pass) == 0 &&
           (slice_assignment().step_of(pass) == slice_assignment().step_of(setup_.first_pass) ||
            !setup_.rank_state->state->writes_copies());
  }
  /// Slices that are dealt one by one are so.
  bool is_granted(Pass pass) const {
    return slice_assignment().is_on_demand() || pass < slice_assignment().pass_of(limit_);
  }
  const data::SliceAssignment& slice_assignment() const { return setup_.slice_assignment; }
  bool alone() const { return strategy().world_size == 1 && !strategy().offloads(); }
  const collectives::Strategy& strategy() const { return setup_.rank_state->state->strategy(); }
  const collectives::FlatPlan& plan() const { return setup_.rank_state->state->plan(); }

  worker_actor::pointer self_;
  WorkerSetup setup_;
  std::int64_t limit_ = 0; ///< steps below it are granted
  Pass next_pass_;
  bool enqueuing_ = false; ///< a pass waits for its parameters
  std::deque<MicroBatchPtr> batches_, test_batches_;
  InFlightSteps passes_, tests_;
  // Where slices are dealt to who comes free.
  UnitId ask_behind_ = 0; ///< whose backward the next slice is asked for
  std::optional<std::chrono::steady_clock::time_point> asked_; ///< and has not come yet
  std::chrono::nanoseconds came_in_{};  ///< the last one, with all that it needs
  std::chrono::nanoseconds comes_in_{}; ///< the longest of late
  WorkerStep step_;
  std::vector<Span> computing_; ///< in the step
  EvaluationReport evaluation_;
  std::int64_t tested_ = 0;
  bool refreshed_ = false; ///< the evaluation has the parameters of its step
};

} // namespace troupe::actors
