/// The text of the progress bar.
#pragma once

#include "metrics/records/run.hpp"
#include "metrics/records/step.hpp"
#include "metrics/step_sums.hpp"

#include <cstdint>
#include <string>

namespace troupe::metrics {

/// Progress of a run after a step.
struct EpochProgress {
  std::int64_t epoch = 0, epochs = 0; ///< counted from 1
  std::int64_t step = 0, steps = 0;   ///< within the epoch, counted from 1
  std::int64_t steps_left = 0;        ///< in the run
  RecentSteps recent;
  RunInfo run; ///< for the unit of throughput: images or tokens
};

EpochProgress progress_after(const RunInfo& run, const StepRecord& step, const RecentSteps& recent);

/// Returns "epoch 3/10 [=====>    ] 120/390  loss 1.2345  accuracy 45.2%  870 images/s  MFU 38.2%
/// 12:34 left"; for texts "perplexity 3.44" in place of accuracy, and tokens. Drops parts until the
/// rest fits into `width` columns: first MFU, then accuracy, the rate, the time, the bar, the loss
/// and the epoch. Returns an empty text if even the steps do not fit. Always shorter than `width`.
std::string progress_bar(const EpochProgress& progress, int width);

/// The same text without a bar.
std::string progress_line(const EpochProgress& progress);

} // namespace troupe::metrics
