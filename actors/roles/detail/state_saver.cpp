#include "actors/roles/detail/state_saver.hpp"

#include "actors/caf_error.hpp"
#include "actors/roles/detail/announce.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe::actors {

StateSaver::StateSaver(shard_manager_actor::pointer self, training::GradientReducer& reducer,
                       const std::shared_ptr<training::RankState>& rank_state,
                       StateSaverSetup setup)
    : self_{self}, reducer_{reducer}, rank_state_{rank_state}, setup_{std::move(setup)} {}

caf::result<void> StateSaver::save(std::int64_t step) {
  if (!setup_.checkpointer) {
    reducer_.copier().take(nullptr);
    return caf::unit;
  }
  auto begun = rank_state_->state->begin_snapshot(step);
  if (!begun)
    return to_caf_error(begun.error());
  SnapshotPtr copy = *std::move(begun);
  reducer_.copier().take(copy.get());
  auto promise = self_->make_response_promise<void>();
  when_copied(step, copy, [this, step, copy, promise]() mutable {
    promise.deliver();
    self_->request(setup_.checkpointer, caf::infinite, atom::snapshot_v, copy)
        .then(
            [this](const ShardOutcome& part) {
              self_->send(setup_.coordinator, atom::saved_v, part);
            },
            [this, step](const caf::error& reason) { not_written(step, reason); });
  });
  return promise;
}

caf::result<ShardOutcome> StateSaver::write_chunk(std::int64_t step, std::size_t index) {
  const auto chunk = next_chunk(step);
  if (rank_state_->state->layout().saves_shard())
    reducer_.copier().copy_written(index, *chunk);
  else
    reducer_.copier().gather(index, chunk.get());
  return hand_over(chunk, true);
}

caf::result<ShardOutcome> StateSaver::hash_chunk(std::int64_t step, std::size_t index) {
  const auto chunk = next_chunk(step);
  reducer_.copier().gather(index, chunk.get());
  return hand_over(chunk, false);
}

caf::result<bool> StateSaver::give_chunk(std::int64_t step, std::size_t index) {
  const auto chunk = next_chunk(step);
  reducer_.copier().gather(index, chunk.get());
  auto promise = self_->make_response_promise<bool>();
  when_copied(step, chunk, [this, chunk, promise]() mutable {
    self_->request(setup_.generator, caf::infinite, atom::snapshot_v, StateChunkPtr{chunk})
        .then([promise](bool is_last) mutable { promise.deliver(is_last); },
              [promise](const caf::error& reason) mutable { promise.deliver(reason); });
  });
  return promise;
}

void StateSaver::when_copied(std::int64_t step, std::shared_ptr<const void> copy,
                             std::function<void()> then) {
  copies_.emplace(step, std::move(then));
  announce(shard_manager_actor{self_}, *rank_state_->communication, atom::saved_v, step,
           std::move(copy));
}

void StateSaver::copied(std::int64_t step) {
  if (const auto oldest = copies_.lower_bound(step);
      oldest != copies_.end() && oldest->first == step)
    copies_.extract(oldest).mapped()();
}

std::shared_ptr<training::StateChunk> StateSaver::next_chunk(std::int64_t step) {
  if (chunk_.use_count() != 1) // the last one is still being read
    chunk_ = std::make_shared<training::StateChunk>();
  chunk_->step = step;
  return chunk_;
}

/// Answers with CHECKPOINTER's answer, after the stream has filled the chunk.
caf::result<ShardOutcome> StateSaver::hand_over(const std::shared_ptr<training::StateChunk>& chunk,
                                                bool write) {
  auto promise = self_->make_response_promise<ShardOutcome>();
  when_copied(chunk->step, chunk, [this, chunk, write, promise]() mutable {
    self_
        ->request(setup_.checkpointer, caf::infinite, atom::snapshot_v, StateChunkPtr{chunk}, write)
        .then([promise](const ShardOutcome& part) mutable { promise.deliver(part); },
              [this, step = chunk->step, promise](const caf::error& reason) mutable {
                not_written(step, reason);
                promise.deliver(reason);
              });
  });
  return promise;
}

void StateSaver::not_written(std::int64_t step, const caf::error& reason) {
  self_->send(setup_.coordinator, atom::failed_v,
              Error{Errc::internal,
                    fmt::format("the checkpointer did not save its part of the state: {}",
                                caf::to_string(reason)),
                    {.actor = "checkpointer", .rank = rank_state_->rank, .step = step - 1}});
}

} // namespace troupe::actors
