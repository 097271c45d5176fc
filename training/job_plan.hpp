/// Schedule of a job as a pure function of its config: where epochs end, and when to evaluate, save
/// a checkpoint, and write a sample of text.
#pragma once

#include "core/config/forward.hpp"

#include <cstdint>

namespace troupe::training {

class JobPlan {
public:
  /// `steps_per_epoch`: from the sampler.
  JobPlan(const Config& config, std::int64_t steps_per_epoch);

  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  /// Steps of the whole job: the least of epochs, max_steps and max_tokens (in whole steps).
  std::int64_t total_steps() const { return total_steps_; }
  /// The epoch of a step, from 0.
  std::int64_t epoch_of(std::int64_t step) const { return step / steps_per_epoch_; }

  /// Whether periodic checkpoints are written.
  bool saves() const { return save_every_ != 0; }
  /// Whether samples of text are written.
  bool writes_samples() const { return sample_every_ != 0; }
  /// Steps between checkpoints; 0 if only the best is written.
  std::int64_t save_interval() const { return save_every_; }
  /// Whether a checkpoint is written before the last step.
  bool saves_while_training() const {
    return (saves() && save_every_ < total_steps_) ||
           (saves_best_ && evaluate_every_ > 0 &&
            evaluate_every_ * steps_per_epoch_ < total_steps_);
  }

  // Whether an event is due after `done` steps.
  bool epoch_ends(std::int64_t done) const;
  bool evaluation_due(std::int64_t done) const;
  bool checkpoint_due(std::int64_t done) const;
  /// Whether a sample of text is due (language models only).
  bool sample_due(std::int64_t done) const;
  /// Returns the next step count above `done` at which training pauses: for an evaluation, a
  /// sample, a checkpoint, or the end of the job. The end of an epoch is not a pause, because all
  /// ranks would wait for the slowest.
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
