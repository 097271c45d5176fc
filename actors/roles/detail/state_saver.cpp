#include "actors/roles/detail/state_saver.hpp"

#include "actors/roles/detail/announce.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe::actors {

StateSaver::StateSaver(shard_manager_actor::pointer self, engine::Exchange& exchange,
                       const std::shared_ptr<engine::Replica>& replica, StateSaverSetup setup)
    : self_{self}, exchange_{exchange}, replica_{replica}, setup_{std::move(setup)} {}

caf::result<void> StateSaver::save(std::int64_t step) {
  if (!setup_.checkpointer) {
    exchange_.copy_state(nullptr);
    return caf::unit;
  }
  auto copy = std::make_shared<engine::Snapshot>(engine::Snapshot{.step = step});
  exchange_.copy_state(copy.get());
  auto promise = self_->make_response_promise<void>();
  when_copied(step, copy, [this, step, copy, promise]() mutable {
    promise.deliver();
    self_->request(setup_.checkpointer, caf::infinite, atom::snapshot_v, SnapshotPtr{copy})
        .then(
            [this](const PartOutcome& part) {
              self_->send(setup_.coordinator, atom::saved_v, part);
            },
            [this, step](const caf::error& reason) { not_written(step, reason); });
  });
  return promise;
}

caf::result<PartOutcome> StateSaver::write_piece(std::int64_t step, std::size_t index) {
  const auto piece = next_piece(step);
  if (replica_->state->saves_part())
    exchange_.copy_own_piece(index, *piece);
  else
    exchange_.gather_piece(index, piece.get());
  return hand_over(piece, true);
}

caf::result<PartOutcome> StateSaver::hash_piece(std::int64_t step, std::size_t index) {
  const auto piece = next_piece(step);
  exchange_.gather_piece(index, piece.get());
  return hand_over(piece, false);
}

caf::result<bool> StateSaver::give_piece(std::int64_t step, std::size_t index) {
  const auto piece = next_piece(step);
  exchange_.gather_piece(index, piece.get());
  auto promise = self_->make_response_promise<bool>();
  when_copied(step, piece, [this, piece, promise]() mutable {
    self_->request(setup_.generator, caf::infinite, atom::snapshot_v, StatePiecePtr{piece})
        .then([promise](bool is_last) mutable { promise.deliver(is_last); },
              [promise](const caf::error& reason) mutable { promise.deliver(reason); });
  });
  return promise;
}

void StateSaver::when_copied(std::int64_t step, std::shared_ptr<const void> copy,
                             std::function<void()> then) {
  copies_[step] = std::move(then);
  announce(shard_manager_actor{self_}, *replica_->communication, atom::saved_v, step,
           std::move(copy));
}

std::shared_ptr<engine::StatePiece> StateSaver::next_piece(std::int64_t step) {
  if (piece_.use_count() != 1) // somebody still reads the last one
    piece_ = std::make_shared<engine::StatePiece>();
  piece_->step = step;
  return piece_;
}

/// Answers with what CHECKPOINTER answers, when the stream has come that far.
caf::result<PartOutcome> StateSaver::hand_over(const std::shared_ptr<engine::StatePiece>& piece,
                                               bool write) {
  auto promise = self_->make_response_promise<PartOutcome>();
  when_copied(piece->step, piece, [this, piece, write, promise]() mutable {
    self_
        ->request(setup_.checkpointer, caf::infinite, atom::snapshot_v, StatePiecePtr{piece}, write)
        .then([promise](const PartOutcome& part) mutable { promise.deliver(part); },
              [this, step = piece->step, promise](const caf::error& reason) mutable {
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
                    {.actor = "checkpointer", .rank = replica_->rank, .step = step - 1}});
}

} // namespace troupe::actors
