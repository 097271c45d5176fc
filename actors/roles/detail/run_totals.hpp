/// What a run has come to in the generations of this process that are over: a COORDINATOR leaves it
/// to the next.
#pragma once

#include "actors/roles/detail/best_so_far.hpp"
#include "metrics/report/earlier_run.hpp"
#include "metrics/step_record.hpp"
#include "metrics/step_sums.hpp"

namespace troupe::actors {

struct RunTotals {
  metrics::StepSums steps = {};
  std::int64_t committed = 0;            ///< steps, of the whole run
  double seconds = 0;                    ///< from the first step on
  double collective = 0, overlapped = 0; ///< seconds
  metrics::RunSummary summary = {};      ///< its checkpoints
  BestSoFar best = BestSoFar{};
  std::int64_t sampled = -1;    ///< steps after which the last sample of text was written
  metrics::EarlierRun run = {}; ///< what it is now, for the one that goes on
};

} // namespace troupe::actors
