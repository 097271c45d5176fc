/// The part that all SHARD MANAGERs share: it keeps WORKER's requests, saves the rank's state,
/// reports failures, and waits for the end.
#pragma once

#include "actors/resume_in.hpp"
#include "actors/roles/traced.hpp"
#include "collectives/point_to_point/point_to_point.hpp"
#include "training/rank_state.hpp"
#include "training/state/state_copier.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace troupe::actors {

/// The roles that a SHARD MANAGER knows, besides its WORKER.
struct ShardManagerNeighbours {
  checkpointer_actor checkpointer = {}; ///< of the rank; null: it writes nothing
  coordinator_actor coordinator;
  generator_actor generator = {}; ///< set only on rank 0, and only if samples are written
};

class ShardManagerBase {
public:
  static inline const char* name = "shard_manager";

  ShardManagerBase(const ShardManagerBase&) = delete;
  ShardManagerBase& operator=(const ShardManagerBase&) = delete;

protected:
  ShardManagerBase(shard_manager_actor::pointer_view self,
                   std::shared_ptr<training::RankState> rank_state, ShardManagerNeighbours others);
  virtual ~ShardManagerBase() = default;

  /// Returns a copier of the rank's state after `steps` steps.
  virtual training::StateCopier copier(std::int64_t steps) = 0;
  /// The device, a collective or the connection to another rank has failed.
  virtual void fail(Error error) = 0;
  /// Answers the requests for parameters that can be answered now.
  virtual void answer_requests() = 0;
  // Handle the messages of these names (interfaces.hpp).
  virtual void gradients_ready(Pass pass, UnitId unit, const EventPtr& event) = 0;
  virtual void deliver(const collectives::MessagePtr& message) = 0;

  /// Returns the behavior of these handlers and of the shared ones.
  template <class Handle, class... Handlers>
  typename Handle::behavior_type behavior(const metrics::Track& row, Handlers... handlers) {
    return traced<Handle>(
        row, std::move(handlers)...,
        [this](atom::join, const worker_actor& worker) { worker_ = worker; },
        [this](atom::need_parameters, const ParameterRequest& request) {
          requests_.push_back(request);
          answer_requests();
        },
        [this](atom::gradients_ready, Pass pass, UnitId unit, const EventPtr& event) {
          gradients_ready(pass, unit, event);
        },
        [this](atom::deliver, const collectives::MessagePtr& message) { deliver(message); },
        [this](atom::save, std::int64_t steps) { return save(steps); },
        [this](atom::gather, std::int64_t steps, std::uint64_t chunk, ChunkUse use) {
          return take_chunk(steps, chunk, use);
        },
        [](atom::done, const FollowUpPtr& then) { (*then)(); });
  }
  /// Subscribes to the messages for this rank, and to the loss of other ranks.
  void subscribe(collectives::PointToPoint& point_to_point);
  /// Calls `then` on the stream's thread when the stream has come this far. Fails if the stream has
  /// failed.
  template <class Then>
  void when_done(Stream& stream, Then then) {
    stream.on_complete([this, me = shard_manager_actor{self_},
                        then = std::move(then)](const Status& status) mutable {
      if (status)
        then();
      else
        resume_in(me, [this, error = status.error()] { fail(error); });
    });
  }
  /// Calls `then` as this actor when the stream has come this far. The stream keeps `written` alive
  /// until then, because the actor may end before.
  void announce(Stream& stream, std::shared_ptr<const void> written, FollowUp then);
  /// Calls `then` when all enqueued work, including `copy`, is done.
  void when_copied(std::int64_t steps, std::shared_ptr<const void> copy,
                   std::function<void()> then);
  /// Answers `abort` after all pending callbacks of the stream.
  caf::result<void> when_drained(Stream& stream);
  /// Has WORKER evaluate the state after `steps` steps.
  void begin_evaluation(std::int64_t steps);
  /// Reports an error to COORDINATOR. `step`: the step in flight, unless the error names another.
  void report(Error error, std::int64_t step);

  training::RankState& rank_state() const { return *rank_state_; }
  const coordinator_actor& coordinator() const { return others_.coordinator; }
  const worker_actor& worker() const { return worker_; }
  std::deque<ParameterRequest>& requests() { return requests_; }

private:
  using Chunk = std::shared_ptr<training::StateChunk>;

  caf::result<void> save(std::int64_t steps);
  caf::result<ShardOutcome> take_chunk(std::int64_t steps, std::size_t index, ChunkUse use);
  caf::result<ShardOutcome> give_chunk(std::int64_t steps, std::size_t index);
  Chunk next_chunk(std::int64_t steps);
  Chunk gathered(std::int64_t steps, std::size_t index);
  caf::result<ShardOutcome> hand_over(const Chunk& chunk, bool write);
  void not_written(std::int64_t steps, const caf::error& reason);

  shard_manager_actor::pointer_view self_;
  std::shared_ptr<training::RankState> rank_state_;
  ShardManagerNeighbours others_;
  worker_actor worker_;
  std::deque<ParameterRequest> requests_; ///< not answered yet
  Chunk chunk_;                           ///< its memory is reused for the next chunk
  /// By number of steps: the actions after its copies, in the order of the copies.
  std::multimap<std::int64_t, std::function<void()>> copies_;
  caf::typed_response_promise<void> aborted_;
};

} // namespace troupe::actors
