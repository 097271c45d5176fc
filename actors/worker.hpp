/// WORKER: runs forward and backward of one device, unit by unit, as batches and parameters arrive.
#pragma once

#include "interfaces.hpp"
#include "replica.hpp"

#include "troupe/core/precision.hpp"
#include "troupe/metrics/trace.hpp"

#include <deque>
#include <map>
#include <memory>

namespace troupe::actors {

struct WorkerSetup {
  std::shared_ptr<Replica> replica;
  std::int64_t accumulate = 1; ///< passes a step
  Pass first_pass = 0;
  std::int64_t test_batches = 0; ///< of this rank's part of the test set
  bool scales_loss = false;      ///< a loss that is not finite is the shard manager's affair
  Precision precision = Precision::fp32; ///< what to say of a loss that is not finite
  data_loader_actor loader;
  shard_manager_actor shard_manager;
  coordinator_actor coordinator;
  metrics::Track row = {};        ///< of the actor in the timeline
  metrics::Track stream_row = {}; ///< of what it has computed
};

/// A pass begins when its batch has come and its step has been granted; each unit's forward is
/// enqueued when its parameters are announced; backward follows at once. A rank that is alone has
/// nothing to overlap, and enqueues the pass in one piece. Nothing is waited for: the next pass
/// begins as soon as this one is enqueued, and is held back by its parameters alone.
class WorkerState {
public:
  static inline const char* name = "worker";

  WorkerState(worker_actor::pointer self, WorkerSetup setup);
  worker_actor::behavior_type make_behavior();

private:
  /// What the device writes while a pass is under way; its address is stable.
  struct Flight {
    MicroBatchPtr batch;
    StepOutputs outputs;
    EventPtr asked, fed, began, ended; ///< before and after the wait for data; forward; backward
  };
  using Flights = std::map<std::int64_t, std::unique_ptr<Flight>>;

  void begin_pass();
  void forward(Pass pass, UnitId unit, const EventPtr& parameters);
  void backward(Pass pass);
  void run_whole(Pass pass);
  void end_pass(Pass pass);
  void finish_pass(Pass pass);
  void finish_step(std::int64_t step);
  void begin_evaluation(std::int64_t step, const EventPtr& statistics);
  void evaluate_batch(const MicroBatchPtr& batch);
  void finish_test_batch(std::int64_t index);
  void announce_done(Purpose purpose, std::int64_t index);
  void fail(Error error);
  /// What the stream's row shows.
  metrics::SpanLabel label(std::string_view what, UnitId unit, Pass pass) const;
  UnitId units() const;
  bool alone() const { return setup_.replica->communicator->world_size() == 1; }

  worker_actor::pointer self_;
  WorkerSetup setup_;
  std::int64_t limit_ = 0; ///< steps below it are granted
  Pass next_pass_;
  bool enqueuing_ = false; ///< a pass waits for its parameters
  std::deque<MicroBatchPtr> batches_;
  Flights passes_, tests_;
  WorkerStep step_;
  EvaluationReport evaluation_;
  std::int64_t tested_ = 0;
};

} // namespace troupe::actors
