// Saving of a job's state, and the end of the job after the last save.
#include "actors/roles/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::actors {

void CoordinatorState::save_if_due() {
  if (phase_ == Phase::ended) // while the last checkpoint was written
    return;
  const bool saves = setup_.plan.saves() || checkpoints_.next.is_best;
  const bool is_due = std::exchange(checkpoints_.wanted, false) ||
                      setup_.plan.checkpoint_due(steps_.committed) || checkpoints_.next.is_best;
  if (!steps_.is_over() && !is_due) {
    checkpoints_.next = {};
    return resume_training();
  }
  if (phase_ != Phase::saving)
    checkpoints_.pause_begin = Clock::now();
  enter(Phase::saving);
  if (!checkpoints_.begin(steps_.committed))
    return;
  if (!steps_.is_over())
    return save();
  phase_ = Phase::finishing;
  saves ? save_chunks() : conclude();
}

/// Returns the error handler of a save request: it ends the job.
std::function<void(const caf::error&)> CoordinatorState::not_saved(const char* role, int rank) {
  return [this, role, rank, step = steps_.committed - 1](const caf::error& error) {
    fail({Errc::internal,
          fmt::format("the {} did not save its part of the state: {}", role, caf::to_string(error)),
          {.actor = role, .rank = rank, .step = step}});
  };
}

void CoordinatorState::save() {
  const auto answered = after(ranks_.all.size(), [this] { copied(); });
  for (const auto& [number, rank] : ranks_.all)
    self_->request(rank.shard_manager, caf::infinite, atom::save_v, steps_.committed)
        .then(answered, not_saved("shard_manager", number));
}

/// The copy is complete. Training continues while it is written.
void CoordinatorState::copied() {
  checkpoints_.paused = seconds(Clock::now() - checkpoints_.pause_begin);
  if (!steps_.is_over())
    return resume_training();
  phase_ = Phase::finishing;
  if (!checkpoints_.writing)
    conclude();
}

/// Training has stopped, so the state is written without a copy.
void CoordinatorState::save_chunks() {
  for (std::int32_t rank = 0; rank < checkpoints_.writers; ++rank)
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
        ->request(ranks_.all.at(of).shard_manager, caf::infinite, atom::gather_v, steps_.committed,
                  index, its_use)
        .then(std::move(answered), not_saved("shard_manager", of));
  };
  if (use != ChunkUse::checkpoint || !setup_.is_sharded)
    for (const auto& [other, joined] : ranks_.all)
      if (other != 0)
        ask(other, ChunkUse::contribution, [](const ShardOutcome&) {});
  ask(rank, use, [this, rank, use, then, next = index + 1](const ShardOutcome& part) {
    part.is_last ? then(part) : take_chunks(rank, use, then, next);
  });
}

void CoordinatorState::count_shard(const ShardOutcome& part) {
  if (!checkpoints_.add(part))
    return;
  self_->request(setup_.checkpointer, caf::infinite, atom::finish_v, checkpoints_.parts)
      .then(
          [this](metrics::CheckpointRecord outcome) {
            checkpoints_.end(outcome, Clock::now());
            totals_.add(outcome);
            record(std::move(outcome));
            if (std::exchange(checkpoints_.due, false))
              save_if_due();
            else if (phase_ == Phase::finishing)
              conclude();
            else if (!halts_.promises.empty() && phase_ != Phase::evaluating &&
                     phase_ != Phase::sampling)
              resume_training();
          },
          not_saved("checkpointer"));
}

/// Computes the digest of the last parameters if no checkpoint has it, and ends the job.
void CoordinatorState::conclude() {
  sampling_.concludes = sampling_.runs;
  if (sampling_.concludes)
    return;
  if (checkpoints_.hashed == steps_.committed)
    return finish();
  take_chunks(0, ChunkUse::digest, [this](const ShardOutcome& part) {
    totals_.summary.parameters_sha256 = part.parameters_sha256;
    finish();
  });
}

void CoordinatorState::finish() {
  if (phase_ == Phase::ended)
    return;
  if (ending_)
    return end_failed(*std::move(ending_));
  auto& failure = checkpoints_.failure;
  if (!failure)
    return end(steps_.committed == setup_.plan.total_steps() ? "completed" : "stopped");
  failure->message = "the last checkpoint was not written: " + failure->message;
  end_failed(*std::move(failure));
}

void CoordinatorState::end(std::string_view status, std::optional<Error> error) {
  phase_ = Phase::ended;
  auto& summary = totals_.summary;
  summary.status = status;
  summary.steps = steps_.committed;
  summary.epochs = setup_.plan.epoch_of(steps_.committed);
  summary.samples = totals_.steps.samples;
  summary.seconds = totals_.seconds + seconds(Clock::now() - begin_);
  summary.samples_per_second = totals_.samples_per_second();
  summary.mfu = totals_.steps.mfu();
  summary.peak_operations = ranks_.peak_operations();
  summary.overlap_ratio = ratio(totals_.overlapped, totals_.collective);
  summary.workers = ranks_.summaries(steps_.seconds);
  const RunOutcomePtr outcome =
      std::make_shared<const RunOutcome>(RunOutcome{summary, std::move(error)});
  const auto answer = [this](const RunOutcomePtr& ended) {
    if (promise_)
      promise_->deliver(ended);
  };
  self_->request(setup_.metrics, caf::infinite, atom::finish_v, outcome)
      .then(answer, [this, answer, outcome](const caf::error& reason) {
        auto& now = totals_.summary;
        auto failure = outcome->error;
        if (!failure) { // the run's files are incomplete, so the run has failed
          failure = Error{Errc::internal,
                          "the metrics actor died before the run's logs were complete: " +
                              caf::to_string(reason),
                          {.actor = "metrics", .step = steps_.committed - 1}};
          now.status = "failed";
          now.error = failure->to_string();
        }
        answer(std::make_shared<const RunOutcome>(RunOutcome{now, std::move(failure)}));
      });
}

} // namespace troupe::actors
