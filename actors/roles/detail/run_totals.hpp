/// The totals of a run over the earlier generations of this process. Each COORDINATOR passes them
/// to the next.
#pragma once

#include "actors/roles/detail/best_so_far.hpp"
#include "metrics/records/run.hpp"
#include "metrics/report/earlier_run.hpp"
#include "metrics/step_sums.hpp"

namespace troupe::actors {

struct RunTotals {
  metrics::StepSums steps = {};
  std::int64_t committed = 0;            ///< steps of the whole run
  double seconds = 0;                    ///< since the first step
  double collective = 0, overlapped = 0; ///< seconds
  metrics::RunSummary summary = {};      ///< with the counts of its checkpoints
  BestSoFar best = BestSoFar{};
  std::int64_t sampled = -1;    ///< number of steps after which the last text sample was written
  metrics::EarlierRun run = {}; ///< the run so far, for the next generation
};

} // namespace troupe::actors
