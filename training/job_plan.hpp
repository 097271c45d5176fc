/// The course of a job as a pure function of its config: where epochs end, when to evaluate,
/// save, and have a language model write.
#pragma once

#include "core/config/forward.hpp"

#include <cstdint>

namespace troupe::training {

class JobPlan {
public:
  /// `steps_per_epoch` as the sampler says.
  JobPlan(const Config& config, std::int64_t steps_per_epoch);

  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  /// Steps of the whole job: the least of epochs, max_steps and max_tokens (in whole steps).
  std::int64_t total_steps() const { return total_steps_; }
  /// The epoch, from 0, that a step belongs to.
  std::int64_t epoch_of(std::int64_t step) const { return step / steps_per_epoch_; }

  /// Whether checkpoints are written at all.
  bool saves() const { return save_every_ != 0; }
  /// Whether samples of text are written.
  bool writes_samples() const { return sample_every_ != 0; }
  /// Steps from one checkpoint to the next; 0: none are written, but the best.
  std::int64_t save_interval() const { return save_every_; }
  /// Whether some are while steps are still to come.
  bool saves_while_training() const {
    return (saves() && save_every_ < total_steps_) ||
           (saves_best_ && evaluate_every_ > 0 &&
            evaluate_every_ * steps_per_epoch_ < total_steps_);
  }

  // After `done` steps:
  bool epoch_ends(std::int64_t done) const;
  bool evaluation_due(std::int64_t done) const;
  bool checkpoint_due(std::int64_t done) const;
  /// Whether a language model writes a sample of text.
  bool sample_due(std::int64_t done) const;
  /// The next number of steps, above `done`, at which training pauses for an evaluation, a
  /// sample or a checkpoint, or ends. Not for an epoch: who is slow in its last step would hold up
  /// all.
  std::int64_t next_pause(std::int64_t done) const;

private:
  std::int64_t steps_per_epoch_;
  std::int64_t total_steps_;
  std::int64_t evaluate_every_; ///< epochs; 0: never
  std::int64_t save_every_;     ///< steps; 0: never
  std::int64_t sample_every_;   ///< steps; 0: never
  bool saves_best_;
};

} // namespace troupe::training
