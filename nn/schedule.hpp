/// The learning rate as a pure function of the step: a resumed run needs no state for it.
#pragma once

#include "core/config/training.hpp"
#include "core/error.hpp"

#include <cstdint>

namespace troupe::nn {

struct ScheduleSpan {
  std::int64_t steps_per_epoch = 1;
  std::int64_t total_steps = 1;     ///< of the whole job
  std::int64_t tokens_per_step = 0; ///< 0: the data has none, and no length counts them
};

/// The learning rate of the update number `step`, from 0. Lengths are rounded to whole steps.
///
/// Warm-up of W steps: lr * (step + 1) / W, so that it reaches lr in its last step. Then:
/// - constant
/// - step: lr * gamma for every milestone reached (from the start of the run, warm-up included)
/// - cosine: from lr down to min_lr, which it would reach one step after the last (Loshchilov &
///   Hutter, "SGDR", 2017, without restarts; PyTorch's CosineAnnealingLR)
/// - linear: the same in a line (PyTorch's LinearLR)
/// - wsd: lr, and in the last `decay` steps of the run lr - (lr - min_lr) * sqrt(n / decay) in the
///   n-th of them, from 0 (warm-up, stable, decay: Hu et al., "MiniCPM", 2024, arXiv 2404.06395;
///   with the decay "1-sqrt" of Hägele et al., "Scaling Laws and Compute-Optimal Training Beyond
///   Fixed Training Durations", 2024, arXiv 2405.18392)
///
/// An unknown schedule name means constant: the config is validated before.
double learning_rate(const ScheduleConfig& schedule, double lr, std::int64_t step,
                     const ScheduleSpan& span);

/// Errc::invalid_input where a length does not fit into the run: warm-up, a milestone of `step`,
/// warm-up and decay of `wsd` together.
Status check_lengths(const ScheduleConfig& schedule, const ScheduleSpan& span);

} // namespace troupe::nn
