// Samples of text from a language model in training.
#include "actors/roles/coordinator.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe::actors {

/// Runs after an evaluation and before a checkpoint. Waits for the last sample, because GENERATOR
/// has memory for one; skipping one would make the output depend on timing. Replica groups do not
/// synchronize for a sample, because that would change the training: the sample shows the state of
/// rank 0.
void CoordinatorState::sample_if_due() {
  if (phase_ == Phase::ended) // while the last sample was written
    return;
  if (!setup_.plan.sample_due(steps_.committed) || sampling_.last == steps_.committed)
    return save_if_due();
  enter(Phase::sampling);
  sampling_.due = sampling_.runs;
  if (!std::exchange(sampling_.runs, true))
    take_chunks(0, ChunkUse::sample, [this](const ShardOutcome&) { write_sample(); });
}

/// GENERATOR has all parameters. Training continues while it writes.
void CoordinatorState::write_sample() {
  if (phase_ == Phase::ended)
    return;
  sampling_.last = steps_.committed;
  self_->request(setup_.generator, caf::infinite, atom::generate_v, steps_.committed)
      .then(
          [this](const GeneratedRecordPtr& sample) {
            if (phase_ == Phase::ended)
              return;
            totals_.sampled = sample->step;
            record(*sample);
            sample_ended();
          },
          [this, step = steps_.committed](const caf::error& error) { not_sampled(step, error); });
  save_if_due();
}

/// An error of GENERATOR does not end the job; its death does.
void CoordinatorState::not_sampled(std::int64_t step, const caf::error& error) {
  if (phase_ == Phase::ended)
    return;
  const bool has_died = !error.context().match_elements<Error>();
  if (has_died)
    return fail({Errc::internal,
                 fmt::format("the generator did not write the sample of step {}: {}", step,
                             caf::to_string(error)),
                 {.actor = "generator", .step = step - 1}});
  self_->send(setup_.metrics, atom::failed_v, step, error.context().get_as<Error>(0));
  sample_ended();
}

void CoordinatorState::sample_ended() {
  sampling_.runs = false;
  if (std::exchange(sampling_.due, false))
    sample_if_due();
  else if (std::exchange(sampling_.concludes, false))
    conclude();
  else if (!halts_.promises.empty() && phase_ == Phase::training)
    grant();
}

} // namespace troupe::actors
