/// Runs side by side: the same job in several modes, or runs that were there before. As Markdown,
/// and as the document of a page (docs/files.md).
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

/// The course of a run, for charts that show several.
struct RunCurves {
  StepHistory steps = {};
  std::vector<EpochRecord> tests = {}; ///< epochs with an evaluation, each with its step
};

RunCurves curves_of(const RunDocument& document);

/// A row: a mode or an earlier run, and its figures.
struct ComparedRun {
  std::string strategy, precision;
  std::string problem = {}; ///< why there are no figures; empty: the run has completed
  std::int64_t workers = 0;
  double seconds = 0;
  double samples_per_second = 0;
  std::optional<double> tokens_per_second = {}; ///< of these samples, where they are texts
  std::uint64_t peak_memory_bytes = 0;          ///< of the worker that needed most; 0: unknown
  std::optional<double> busy_ratio = {};        ///< mean over workers
  double overlap_ratio = 0;                     ///< 0 for one worker
  double loss = 0;                              ///< of the last step
  std::optional<double> accuracy = {}, perplexity = {}; ///< of the last evaluation
  // Files beside the comparison's, by their paths from there; empty: there is none.
  std::string report = {}, log = {};
  std::string name = {}; ///< of an earlier run, with its state unless that is completed
  std::string job = {};  ///< "resnet20 on cifar10"
  RunCurves curves = {};
};

/// What the runs ran on.
struct ComparedMachine {
  std::string host, processor, instruction_set;
  std::int64_t cores = 0;
  double memory_bytes = 0;
  std::vector<std::string> gpus = {}; ///< names
};

/// Takes the figures out of a summary.json; what is none, or a run that did not complete, becomes
/// the row's problem.
void take_summary(ComparedRun& run, std::string_view json);

/// A run from its folder, in whatever state it is. Errors: those of read_report().
Result<ComparedRun> read_compared_run(const std::filesystem::path& folder);

struct Comparison {
  std::string title; ///< "resnet20 on cifar10"
  std::vector<ComparedRun> runs;
  std::optional<ComparedMachine> machine = {}; ///< empty: earlier runs, of whatever machines
  std::string version = {};                    ///< of the program
};

/// Tokens and perplexity have columns where a run is on texts; accuracy, unless all of them are.
std::string to_markdown(const Comparison& comparison);
std::string to_json(const Comparison& comparison, std::chrono::system_clock::time_point made);

} // namespace troupe::metrics
