/// SHARD MANAGER: sums gradients over passes and ranks, bucket by bucket while backward goes on,
/// and applies the optimizer. Strategies: single, ddp.
#pragma once

#include "interfaces.hpp"
#include "replica.hpp"

#include "troupe/collectives/buckets.hpp"
#include "troupe/metrics/trace.hpp"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace troupe::actors {

struct ShardManagerSetup {
  std::shared_ptr<Replica> replica;
  std::int64_t accumulate = 1;
  Pass first_pass = 0;
  std::size_t bucket_bytes = 25u << 20;
  std::optional<double> clip_norm = {}; ///< largest global norm of the averaged gradients
  std::optional<LossScaleOptions> loss_scale = {}; ///< as the state's, when it has one
  /// The optimizer's arguments for a step, with its learning rate; pure.
  std::function<OptimizerArguments(std::int64_t step)> optimizer;
  coordinator_actor coordinator;
  metrics::Track row = {};        ///< of the actor in the timeline
  metrics::Track stream_row = {}; ///< of what it enqueues
};

class ShardManagerState {
public:
  static inline const char* name = "shard_manager";

  ShardManagerState(shard_manager_actor::pointer self, ShardManagerSetup setup);
  shard_manager_actor::behavior_type make_behavior();

private:
  struct Request {
    Pass pass;
    UnitId unit;
  };
  /// Of a step under way: a report when both the worker and the optimizer are done.
  struct Flight {
    std::vector<std::pair<EventPtr, EventPtr>> collectives; ///< begin, end
    std::uint64_t bytes = 0;
    std::optional<WorkerStep> worker;
    bool applied = false;
    LossScaleState scaler = {}; ///< after the step, when losses are scaled
  };
  struct Copy {
    std::shared_ptr<Snapshot> snapshot;
    caf::typed_response_promise<SnapshotPtr> promise;
  };

  void need_parameters(Pass pass, UnitId unit);
  void gradients_ready(Pass pass, UnitId unit, const EventPtr& event);
  void accumulate(Pass pass, UnitId unit);
  void reduce(const collectives::Bucket& bucket, Flight& flight);
  void finish_pass(Pass pass);
  void apply_optimizer(std::int64_t step);
  /// Ends the step of the loss scale and has it copied for the report.
  void end_scaled_step(std::int64_t step);
  void answer_requests();
  void commit_if_done(std::int64_t step);
  Status check_loss(const Flight& flight) const;
  void evaluate(std::int64_t step);
  caf::result<SnapshotPtr> snapshot(std::int64_t step);
  void deliver_snapshot(std::int64_t step);
  /// Tells this actor when the stream has come this far, or that it has failed.
  template <class Atom>
  void announce(Atom atom, std::int64_t step);
  void fail(Error error);
  bool last_of_step(Pass pass) const { return (pass + 1) % setup_.accumulate == 0; }

  shard_manager_actor::pointer self_;
  ShardManagerSetup setup_;
  worker_actor worker_;
  std::vector<collectives::Bucket> buckets_;
  std::size_t open_bucket_ = 0; ///< the bucket that backward fills now
  UnitId units_left_ = 0;       ///< of the pass whose gradients arrive
  Pass done_passes_;            ///< passes below it are summed, and applied if they end a step
  EventPtr parameters_event_;   ///< when the parameters for pass done_passes_ are there
  std::vector<Request> requests_;
  std::map<std::int64_t, Flight> flights_;
  std::map<std::int64_t, Copy> copies_;
};

} // namespace troupe::actors
