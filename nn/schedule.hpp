/// The learning rate as a pure function of the step: a resumed run needs no state for it.
#pragma once

#include "troupe/core/config/training.hpp"

#include <cstdint>

namespace troupe::nn {

struct ScheduleSpan {
  std::int64_t steps_per_epoch = 1;
  std::int64_t total_steps = 1; ///< of the whole job
};

/// The learning rate of the update number `step`, from 0.
///
/// Warm-up of W steps (epochs in the config): lr * (step + 1) / W, so that it reaches lr in its
/// last step. Then: constant; step, lr * gamma for every milestone reached (epochs from the start
/// of the run, warm-up included); cosine, from lr down to min_lr, which it would reach one step
/// after the last (Loshchilov & Hutter, "SGDR", 2017, without restarts; PyTorch's
/// CosineAnnealingLR). An unknown schedule name means constant: the config is validated before.
double learning_rate(const ScheduleConfig& schedule, double lr, std::int64_t step,
                     const ScheduleSpan& span);

} // namespace troupe::nn
