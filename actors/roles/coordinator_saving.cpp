// Saving of a job's state, and the end of the job after the last save.
#include "actors/roles/coordinator.hpp"
#include "actors/roles/detail/step_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::actors {

void CoordinatorState::save_if_due() {
  if (phase_ == Phase::ended) // while the last checkpoint was written
    return;
  const bool saves = setup_.plan.saves() || next_shards_.is_best;
  const bool is_due = std::exchange(save_wanted_, false) ||
                      setup_.plan.checkpoint_due(committed_) || next_shards_.is_best;
  if (!is_over() && !is_due) {
    next_shards_ = {};
    return resume_training();
  }
  if (phase_ != Phase::saving)
    pause_begin_ = Clock::now();
  enter(Phase::saving);
  save_due_ = writing_;
  if (writing_)
    return;
  parts_ = std::exchange(next_shards_, {});
  parts_.step = committed_;
  if (!is_over())
    return save();
  phase_ = Phase::finishing;
  saves ? save_chunks() : conclude();
}

/// Returns the error handler of a save request: it ends the job.
std::function<void(const caf::error&)> CoordinatorState::not_saved(const char* role, int rank) {
  return [this, role, rank, step = committed_ - 1](const caf::error& error) {
    fail({Errc::internal,
          fmt::format("the {} did not save its part of the state: {}", role, caf::to_string(error)),
          {.actor = role, .rank = rank, .step = step}});
  };
}

void CoordinatorState::save() {
  writing_ = true;
  const auto answered = after(members_.size(), [this] { copied(); });
  for (const auto& [rank, member] : members_)
    self_->request(member.shard_manager, caf::infinite, atom::save_v, committed_)
        .then(answered, not_saved("shard_manager", rank));
}

/// The copy is complete. Training continues while it is written.
void CoordinatorState::copied() {
  paused_ = seconds(Clock::now() - pause_begin_);
  if (!is_over())
    return resume_training();
  phase_ = Phase::finishing;
  if (!writing_)
    conclude();
}

std::size_t CoordinatorState::writers() const {
  return setup_.is_sharded ? members_.size() : 1;
}

/// Training has stopped, so the state is written without a copy.
void CoordinatorState::save_chunks() {
  for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(writers()); ++rank)
    take_chunks(rank, ChunkUse::checkpoint,
                [this](const ShardOutcome& part) { count_shard(part); });
}

/// Has a rank take the chunks of the state, one after the other, from this one on. The other ranks
/// send rank 0 their shards of them, unless each writes its own. `then`: called with the outcome of
/// the last one.
void CoordinatorState::take_chunks(std::int32_t rank, ChunkUse use,
                                   const std::function<void(const ShardOutcome&)>& then,
                                   std::uint64_t index) {
  if (phase_ == Phase::ended)
    return;
  const auto ask = [&](std::int32_t of, ChunkUse its_use, auto answered) {
    self_
        ->request(members_.at(of).shard_manager, caf::infinite, atom::gather_v, committed_, index,
                  its_use)
        .then(std::move(answered), not_saved("shard_manager", of));
  };
  if (use != ChunkUse::checkpoint || !setup_.is_sharded)
    for (const auto& [other, member] : members_)
      if (other != 0)
        ask(other, ChunkUse::contribution, [](const ShardOutcome&) {});
  ask(rank, use, [this, rank, use, then, next = index + 1](const ShardOutcome& part) {
    part.is_last ? then(part) : take_chunks(rank, use, then, next);
  });
}

void CoordinatorState::count_shard(const ShardOutcome& part) {
  if (part.step != parts_.step)
    return;
  parts_.parts.push_back(part);
  if (parts_.parts.size() == writers())
    finish_checkpoint();
}

void CoordinatorState::finish_checkpoint() {
  std::ranges::sort(parts_.parts, {}, &ShardOutcome::rank);
  self_->request(setup_.checkpointer, caf::infinite, atom::finish_v, parts_)
      .then(
          [this](const metrics::CheckpointRecord& outcome) {
            writing_ = false;
            count_saved(outcome);
            if (std::exchange(save_due_, false))
              save_if_due();
            else if (phase_ == Phase::finishing)
              conclude();
            else if (!halts_.empty() && phase_ != Phase::evaluating && phase_ != Phase::sampling)
              resume_training();
          },
          not_saved("checkpointer"));
}

/// Computes the digest of the last parameters if no checkpoint has it, and ends the job.
void CoordinatorState::conclude() {
  concludes_ = sampling_;
  if (concludes_)
    return;
  if (hashed_ == committed_)
    return finish();
  take_chunks(0, ChunkUse::digest, [this](const ShardOutcome& part) {
    summary_.parameters_sha256 = part.parameters_sha256;
    finish();
  });
}

void CoordinatorState::count_saved(metrics::CheckpointRecord outcome) {
  // The last checkpoint is written while nothing trains.
  const auto paused = std::exchange(paused_, std::nullopt);
  outcome.pause_seconds = paused ? *paused : seconds(Clock::now() - pause_begin_);
  summary_.checkpoint_seconds += outcome.pause_seconds;
  summary_.parameters_sha256 = outcome.parameters_sha256;
  if (!outcome.parameters_sha256.empty())
    hashed_ = outcome.step;
  saved_ = outcome.step;
  ++(outcome.failure ? summary_.checkpoint_failures : summary_.checkpoints);
  unsaved_ = outcome.failure;
  if (!outcome.failure)
    summary_.checkpoint = outcome.path;
  record(std::move(outcome));
}

void CoordinatorState::finish() {
  if (phase_ == Phase::ended)
    return;
  if (ending_)
    return end_failed(*std::move(ending_));
  if (!unsaved_)
    return end(committed_ == setup_.plan.total_steps() ? "completed" : "stopped");
  unsaved_->message = "the last checkpoint was not written: " + unsaved_->message;
  end_failed(*std::move(unsaved_));
}

} // namespace troupe::actors
