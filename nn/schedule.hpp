/// The learning rate as a pure function of the step, so that a resumed run needs no state for it.
#pragma once

#include "core/config/train.hpp"
#include "core/error.hpp"

#include <cstdint>

namespace troupe::nn {

struct ScheduleSpan {
  std::int64_t steps_per_epoch = 1;
  std::int64_t total_steps = 1;     ///< steps of the whole job
  std::int64_t tokens_per_step = 0; ///< 0: the data has no tokens, and no length is in tokens
};

/// Returns the learning rate of update `step`, from 0. Lengths are rounded to whole steps.
///
/// Warm-up of W steps: lr * (step + 1) / W, which reaches lr in the last warm-up step. Then:
/// - constant
/// - step: lr * gamma for every milestone reached (from the start of the run, including warm-up)
/// - cosine: from lr down to min_lr, which it would reach one step after the last (Loshchilov &
///   Hutter, "SGDR", 2017, without restarts; PyTorch's CosineAnnealingLR)
/// - linear: the same, linearly (PyTorch's LinearLR)
/// - wsd: lr, and in the last `decay` steps of the run lr - (lr - min_lr) * sqrt(n / decay) in the
///   n-th of them, from 0 (warm-up, stable, decay: Hu et al., "MiniCPM", 2024, arXiv 2404.06395;
///   with the decay "1-sqrt" of Hägele et al., "Scaling Laws and Compute-Optimal Training Beyond
///   Fixed Training Durations", 2024, arXiv 2405.18392)
///
/// An unknown schedule name means constant: the config was validated before.
double learning_rate(const ScheduleConfig& schedule, double lr, std::int64_t step,
                     const ScheduleSpan& span);

/// Returns Errc::invalid_input if a length does not fit into the run: warm-up, a milestone of
/// `step`, or warm-up and decay of `wsd` together.
Status check_lengths(const ScheduleConfig& schedule, const ScheduleSpan& span);

} // namespace troupe::nn
