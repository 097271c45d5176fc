/// The same job in several modes, side by side: as Markdown, as JSON, and as a page with bar
/// charts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

/// A row: a mode, and what its run's summary says.
struct ComparedRun {
  std::string strategy, precision;
  std::string problem = {}; ///< why there are no figures; empty: the run has completed
  std::int64_t workers = 0;
  double seconds = 0;
  double samples_per_second = 0;
  std::uint64_t peak_memory_bytes = 0; ///< of the worker that needed most
  double busy_ratio = 0;               ///< mean over workers
  double overlap_ratio = 0;            ///< 0 for one worker
  double loss = 0;                     ///< of the last step
  std::optional<double> accuracy = {}; ///< of the last evaluation
};

/// Takes the figures out of a summary.json; what is none, or a run that did not complete, becomes
/// the row's problem.
void take_summary(ComparedRun& run, std::string_view json);

struct Comparison {
  std::string title; ///< "resnet20 on cifar10"
  std::vector<ComparedRun> runs;
};

std::string to_markdown(const Comparison& comparison);
std::string to_json(const Comparison& comparison);
/// A file that needs no other file, no script and no network.
std::string to_html(const Comparison& comparison);

} // namespace troupe::metrics
