#include "actors/roles/detail/shard_manager_base.hpp"

#include "actors/caf_error.hpp"

#include <fmt/format.h>

namespace troupe::actors {

ShardManagerBase::ShardManagerBase(shard_manager_actor::pointer_view self,
                                   std::shared_ptr<training::RankState> rank_state,
                                   ShardManagerNeighbours others)
    : self_{self}, rank_state_{std::move(rank_state)}, others_{std::move(others)} {}

void ShardManagerBase::subscribe(collectives::PointToPoint& point_to_point) {
  const shard_manager_actor me{self_};
  auto& device = rank_state_->device();
  point_to_point.subscribe(
      rank_state_->rank, {.deliver =
                              [me](const collectives::MessagePtr& message) {
                                caf::anon_send(me, atom::deliver_v, message);
                              },
                          .memory =
                              [&device](std::size_t bytes) {
                                return device.allocate(bytes, collectives::message_memory(device));
                              },
                          .lost =
                              [this, me](int, Error why) {
                                why.code =
                                    Errc::collective; // as for a collective: another rank is lost
                                resume_in(me, [this, why] { fail(why); });
                              }});
}

void ShardManagerBase::announce(Stream& stream, std::shared_ptr<const void> written,
                                FollowUp then) {
  when_done(stream, [me = shard_manager_actor{self_}, written = std::move(written),
                     then = std::move(then)]() mutable {
    written.reset(); // so that its memory can be reused
    resume_in(me, std::move(then));
  });
}

caf::result<void> ShardManagerBase::save(std::int64_t steps) {
  if (!others_.checkpointer) {
    copier(steps).take(nullptr);
    return caf::unit;
  }
  auto begun = rank_state_->state->begin_snapshot(steps);
  if (!begun)
    return to_caf_error(begun.error());
  SnapshotPtr copy = *std::move(begun);
  copier(steps).take(copy.get());
  auto promise = self_->make_response_promise<void>();
  when_copied(steps, copy, [this, steps, copy, promise]() mutable {
    promise.deliver();
    self_->request(others_.checkpointer, caf::infinite, atom::snapshot_v, copy)
        .then(
            [this](const ShardOutcome& part) {
              self_->send(others_.coordinator, atom::saved_v, part);
            },
            [this, steps](const caf::error& reason) { not_written(steps, reason); });
  });
  return promise;
}

caf::result<ShardOutcome> ShardManagerBase::take_chunk(std::int64_t steps, std::size_t index,
                                                       ChunkUse use) {
  switch (use) {
  case ChunkUse::checkpoint: {
    if (!rank_state_->state->layout().saves_shard())
      return hand_over(gathered(steps, index), true);
    const auto chunk = next_chunk(steps);
    copier(steps).copy_written(index, *chunk);
    return hand_over(chunk, true);
  }
  case ChunkUse::digest:
    return hand_over(gathered(steps, index), false);
  case ChunkUse::sample:
    return give_chunk(steps, index);
  case ChunkUse::contribution:
    copier(steps).gather(index, nullptr);
  }
  return ShardOutcome{};
}

/// Sends one chunk to GENERATOR.
caf::result<ShardOutcome> ShardManagerBase::give_chunk(std::int64_t steps, std::size_t index) {
  const auto chunk = gathered(steps, index);
  auto promise = self_->make_response_promise<ShardOutcome>();
  when_copied(steps, chunk, [this, chunk, promise]() mutable {
    self_->request(others_.generator, caf::infinite, atom::snapshot_v, StateChunkPtr{chunk})
        .then(
            [promise](bool is_last) mutable { promise.deliver(ShardOutcome{.is_last = is_last}); },
            [promise](const caf::error& reason) mutable { promise.deliver(reason); });
  });
  return promise;
}

void ShardManagerBase::when_copied(std::int64_t steps, std::shared_ptr<const void> copy,
                                   std::function<void()> then) {
  copies_.emplace(steps, std::move(then));
  announce(*rank_state_->communication, std::move(copy), [this, steps] {
    copies_.extract(copies_.lower_bound(steps)).mapped()(); // the oldest copy after these steps
  });
}

ShardManagerBase::Chunk ShardManagerBase::next_chunk(std::int64_t steps) {
  if (chunk_.use_count() != 1) // the last one is still being read
    chunk_ = std::make_shared<training::StateChunk>();
  chunk_->step = steps;
  return chunk_;
}

ShardManagerBase::Chunk ShardManagerBase::gathered(std::int64_t steps, std::size_t index) {
  auto chunk = next_chunk(steps);
  copier(steps).gather(index, chunk.get());
  return chunk;
}

/// Answers with CHECKPOINTER's answer, after the stream has filled the chunk.
caf::result<ShardOutcome> ShardManagerBase::hand_over(const Chunk& chunk, bool write) {
  auto promise = self_->make_response_promise<ShardOutcome>();
  when_copied(chunk->step, chunk, [this, chunk, write, promise]() mutable {
    self_
        ->request(others_.checkpointer, caf::infinite, atom::snapshot_v, StateChunkPtr{chunk},
                  write)
        .then([promise](const ShardOutcome& part) mutable { promise.deliver(part); },
              [this, steps = chunk->step, promise](const caf::error& reason) mutable {
                not_written(steps, reason);
                promise.deliver(reason);
              });
  });
  return promise;
}

void ShardManagerBase::not_written(std::int64_t steps, const caf::error& reason) {
  self_->send(others_.coordinator, atom::failed_v,
              Error{Errc::internal,
                    fmt::format("the checkpointer did not save its part of the state: {}",
                                caf::to_string(reason)),
                    {.actor = "checkpointer", .rank = rank_state_->rank, .step = steps - 1}});
}

caf::result<void> ShardManagerBase::when_drained(Stream& stream) {
  aborted_ = self_->make_response_promise<void>();
  stream.on_complete([this, me = shard_manager_actor{self_}](const Status&) {
    resume_in(me, [this] { aborted_.deliver(); });
  });
  return aborted_;
}

void ShardManagerBase::begin_evaluation(std::int64_t steps) {
  self_->send(worker_, atom::evaluate_v, steps, rank_state_->communication->record());
}

void ShardManagerBase::report(Error error, std::int64_t step) {
  error.where.actor = name;
  if (error.where.rank < 0)
    error.where.rank = rank_state_->rank;
  if (error.where.step < 0)
    error.where.step = step;
  self_->send(others_.coordinator, atom::failed_v, std::move(error));
}

} // namespace troupe::actors
