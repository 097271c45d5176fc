/// What a progress bar says, as plain text.
#pragma once

#include "metrics/recent_steps.hpp"
#include "metrics/step_record.hpp"

#include <cstdint>
#include <string>

namespace troupe::metrics {

/// Where a run stands after a step.
struct Progress {
  std::int64_t epoch = 0, epochs = 0; ///< counted from 1
  std::int64_t step = 0, steps = 0;   ///< within the epoch, counted from 1
  std::int64_t steps_left = 0;        ///< of the run
  RecentSteps recent;
  RunInfo run; ///< whose samples they are, for speed
};

Progress progress_after(const RunInfo& run, const StepRecord& step, const RecentSteps& recent);

/// "epoch 3/10 [=====>    ] 120/390  loss 1.2345  accuracy 45.2%  870 images/s  MFU 38.2%  12:34
/// left"; of texts "perplexity 3.44" in the place of accuracy, and tokens. Where the width (in
/// columns) is less, MFU goes first, then accuracy, the rate, the time, the bar, the loss and the
/// epoch; below the steps' own width nothing is left. Always shorter than the width.
std::string progress_bar(const Progress& progress, int width);

/// The same, without a bar.
std::string progress_line(const Progress& progress);

} // namespace troupe::metrics
