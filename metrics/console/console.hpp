/// Prints the progress of a run on the console, for a person or for a program.
#pragma once

#include "metrics/console/detail/log.hpp"
#include "metrics/console/detail/progress.hpp"
#include "metrics/console/detail/screen.hpp"
#include "metrics/records/epoch.hpp"
#include "metrics/records/generated.hpp"
#include "metrics/records/run.hpp"
#include "metrics/records/step.hpp"
#include "metrics/run_sink.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::metrics {

struct ConsoleOptions {
  bool quiet = false; ///< print only the end
  LogFormat format = LogFormat::text;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// With a terminal, shows a progress bar. Without one, prints a line every five seconds and one for
/// each epoch. With the JSON format, prints objects {"time", "level", "event": run, step, skipped,
/// epoch or end, ...}: a step object for the first step and then once a second (docs/runs.md).
/// Prints a line for the 1st, 2nd, 4th, 8th, ... step that loss scaling skips. Use from one thread
/// at a time; other threads may write to the same screen.
class Console final : public RunSink {
public:
  Console(Screen& screen, ConsoleOptions options) : screen_(screen), options_(std::move(options)) {}

  void begin(const RunInfo& run);
  /// Resumes a run that was announced before: does not print the run's line again.
  void go_on(const RunInfo& run);
  using RunSink::record;
  void record(const StepRecord& step) override;
  void record(const EpochRecord& epoch) override;
  void record(const GeneratedRecord& generated) override;
  /// Always prints. `report` is the path of the report, `best` a line about the best epoch; both
  /// may be empty.
  void end(const RunSummary& summary, std::string_view report, std::string_view best = {});

private:
  bool is_json() const { return options_.format == LogFormat::json; }
  bool has_bar() const;
  std::chrono::steady_clock::duration pause() const;
  void show_skipped(const StepRecord& step);
  void write(std::string_view line) { screen_.write_line(Screen::Target::out, line); }

  Screen& screen_;
  const ConsoleOptions options_;
  RunInfo run_;
  RecentSteps recent_;
  std::optional<std::int64_t> skipped_;             ///< empty: unknown, in a resumed run
  std::chrono::steady_clock::time_point next_ = {}; ///< when the next step may be shown
};

} // namespace troupe::metrics
