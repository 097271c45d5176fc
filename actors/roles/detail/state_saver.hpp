/// The part of a SHARD MANAGER that saves: it copies the rank's state, or sends it to rank 0.
#pragma once

#include "actors/interfaces.hpp"
#include "training/reducer/reducer.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace troupe::actors {

struct StateSaverSetup {
  checkpointer_actor checkpointer = {}; ///< of the rank; null: it writes nothing
  coordinator_actor coordinator;
  generator_actor generator = {}; ///< set only on rank 0, and only if samples are written
};

/// Used only by its SHARD MANAGER, which calls copied() when a copy is complete.
class StateSaver {
public:
  StateSaver(shard_manager_actor::pointer self, training::GradientReducer& reducer,
             const std::shared_ptr<training::RankState>& rank_state, StateSaverSetup setup);

  caf::result<void> save(std::int64_t step);
  caf::result<ShardOutcome> write_chunk(std::int64_t step, std::size_t index);
  caf::result<ShardOutcome> hash_chunk(std::int64_t step, std::size_t index);
  /// Sends one chunk to GENERATOR.
  caf::result<bool> give_chunk(std::int64_t step, std::size_t index);
  /// Calls `then` when all enqueued work, including `copy`, is done.
  void when_copied(std::int64_t step, std::shared_ptr<const void> copy, std::function<void()> then);
  /// The oldest copy of this step is done. No effect if none is in progress.
  void copied(std::int64_t step);

private:
  std::shared_ptr<training::StateChunk> next_chunk(std::int64_t step);
  caf::result<ShardOutcome> hand_over(const std::shared_ptr<training::StateChunk>& chunk,
                                      bool write);
  void not_written(std::int64_t step, const caf::error& reason);

  shard_manager_actor::pointer self_;
  training::GradientReducer& reducer_;
  std::shared_ptr<training::RankState> rank_state_;
  StateSaverSetup setup_;
  std::shared_ptr<training::StateChunk> chunk_; ///< its memory is reused for the next chunk
  /// By step: the actions after its copies, in the order of the copies.
  std::multimap<std::int64_t, std::function<void()>> copies_;
};

} // namespace troupe::actors
