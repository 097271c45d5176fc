/// From a run's records to what its charts show.
#pragma once

#include "../run_history.hpp"
#include "charts.hpp"

namespace troupe::metrics {

LineChart loss_chart(const RunHistory& history);
LineChart accuracy_chart(const RunHistory& history);
/// `name`: of samples, "images".
LineChart throughput_chart(const RunHistory& history, const std::string& name);
LineChart learning_rate_chart(const RunHistory& history);
Histogram step_time_chart(const RunHistory& history);
StackedBars memory_chart(const std::vector<WorkerSummary>& workers);

/// Mean of a window that grows with the run, so that a long one is not a thicket: an exponential
/// average over about a fiftieth of all steps. Values that are not finite are left out.
std::vector<Point> smoothed_loss(const std::vector<StepRecord>& steps);

/// The value below which `part` of the steps' times lie; nan without steps.
double step_time_quantile(const std::vector<StepRecord>& steps, double part);

} // namespace troupe::metrics
