// When a job's state is saved, and how the last save ends the job.
#include "coordinator.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe::actors {

void CoordinatorState::save_if_due() {
  if (phase_ == Phase::ended) // while the checkpoint before was written
    return;
  const bool saves = setup_.plan.saves();
  if (!is_over() && !setup_.plan.checkpoint_due(committed_))
    return resume_training();
  enter(Phase::saving);
  save_due_ = writing_;
  if (writing_)
    return;
  is_over() ? save_pieces(saves, 0) : save();
}

/// Rank 0 gets the copy; the other ranks give it what the strategy divides.
template <class... Arguments>
void CoordinatorState::contribute(const Arguments&... arguments) {
  for (const auto& [rank, member] : members_)
    if (rank != 0)
      self_->request(member.shard_manager, caf::infinite, atom::contribute_v, arguments...)
          .then([] {}, not_saved("shard_manager", rank));
}

/// What is done when a role has not done its part of saving: the job ends with that.
std::function<void(const caf::error&)> CoordinatorState::not_saved(const char* role, int rank) {
  return [this, role, rank, step = committed_ - 1](const caf::error& error) {
    fail({Errc::internal,
          fmt::format("the {} did not save its part of the state: {}", role, caf::to_string(error)),
          {.actor = role, .rank = rank, .step = step}});
  };
}

void CoordinatorState::save() {
  writing_ = true;
  contribute(committed_);
  self_->request(members_.at(0).shard_manager, caf::infinite, atom::snapshot_v, committed_)
      .then(
          [this](const SnapshotPtr& snapshot) {
            self_->request(setup_.checkpointer, caf::infinite, atom::snapshot_v, snapshot)
                .then(
                    [this](const CheckpointOutcome& outcome) {
                      writing_ = false;
                      count_saved(outcome);
                      if (std::exchange(save_due_, false))
                        save_if_due();
                      else if (phase_ == Phase::finishing)
                        finish();
                    },
                    not_saved("checkpointer"));
            if (phase_ == Phase::ended)
              return;
            // The copy is taken: training goes on while it is written.
            if (is_over())
              phase_ = Phase::finishing;
            else
              resume_training();
          },
          not_saved("shard_manager", 0));
}

/// Nothing is trained any more, so what is saved need not be copied before it is written.
void CoordinatorState::save_pieces(bool write, std::uint64_t index) {
  if (phase_ == Phase::ended)
    return;
  phase_ = Phase::finishing;
  contribute(committed_, index);
  self_->request(members_.at(0).shard_manager, caf::infinite, atom::snapshot_v, committed_, index)
      .then(
          [this, write](const StatePiecePtr& piece) {
            self_->request(setup_.checkpointer, caf::infinite, atom::snapshot_v, piece, write)
                .then(
                    [this, write, next = piece->index + 1](const CheckpointOutcome& outcome) {
                      if (next < (write ? setup_.pieces : setup_.parameter_pieces))
                        return save_pieces(write, next);
                      count_saved(outcome);
                      finish();
                    },
                    not_saved("checkpointer"));
          },
          not_saved("shard_manager", 0));
}

void CoordinatorState::count_saved(const CheckpointOutcome& outcome) {
  summary_.parameters_sha256 = outcome.parameters_sha256;
  if (outcome.path.empty())
    return;
  ++(outcome.failure ? summary_.checkpoint_failures : summary_.checkpoints);
  unsaved_ = outcome.failure;
  if (!outcome.failure)
    summary_.checkpoint = outcome.path;
  self_->send(setup_.metrics, atom::saved_v, outcome);
}

void CoordinatorState::finish() {
  if (phase_ == Phase::ended)
    return;
  if (!unsaved_)
    return end(committed_ == setup_.plan.total_steps() ? "completed" : "stopped");
  unsaved_->message = "the last checkpoint was not written: " + unsaved_->message;
  fail(*std::move(unsaved_));
}

} // namespace troupe::actors
