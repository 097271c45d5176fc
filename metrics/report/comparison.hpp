/// A comparison of runs: the same job in several modes, or existing runs. As Markdown, and as the
/// document of a page (docs/files.md).
#pragma once

#include "core/error.hpp"
#include "metrics/report/run_document.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

/// The history of a run, for charts of several runs.
struct RunCurves {
  StepHistory steps = {};
  std::vector<EpochRecord> tests = {}; ///< evaluated epochs, each with its step
};

RunCurves curves_of(const RunDocument& document);

/// A row of the comparison: a mode or an existing run, and its results.
struct ComparedRun {
  std::string strategy, precision;
  std::string problem = {}; ///< why there are no results; empty: the run has completed
  std::int64_t workers = 0;
  double seconds = 0;
  double samples_per_second = 0;
  std::optional<double> tokens_per_second = {}; ///< only for texts
  std::uint64_t peak_memory_bytes = 0;          ///< of the worker with the highest peak; 0: unknown
  std::optional<double> busy_ratio = {};        ///< mean over workers
  double overlap_ratio = 0;                     ///< 0 for one worker
  double loss = 0;                              ///< of the last step
  std::optional<double> accuracy = {}, perplexity = {}; ///< of the last evaluation
  // Files of the run, as paths relative to the comparison's folder; empty: none.
  std::string report = {}, log = {};
  std::string name = {}; ///< of an existing run; includes its state unless completed
  std::string job = {};  ///< "resnet20 on cifar10"
  RunCurves curves = {};
};

/// The machine of the runs.
struct ComparedMachine {
  std::string host, processor, instruction_set;
  std::int64_t cores = 0;
  double memory_bytes = 0;
  std::vector<std::string> gpus = {}; ///< names
};

/// Reads the results from a summary.json. If the text is not a summary, or the run did not
/// complete, sets `problem` instead.
void take_summary(ComparedRun& run, std::string_view json);

/// Reads a run in any state from its folder. Errors: those of read_report().
Result<ComparedRun> read_compared_run(const std::filesystem::path& folder);

struct Comparison {
  std::string title; ///< "resnet20 on cifar10"
  std::vector<ComparedRun> runs;
  std::optional<ComparedMachine> machine = {}; ///< empty: existing runs, of unknown machines
  std::string version = {};                    ///< of the program
};

/// Has columns for tokens and perplexity if any run is on texts, and one for accuracy unless all
/// are on texts.
std::string to_markdown(const Comparison& comparison);
std::string to_json(const Comparison& comparison, std::chrono::system_clock::time_point made);

} // namespace troupe::metrics
