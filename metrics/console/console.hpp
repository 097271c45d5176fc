/// What a person (or a program) sees of a run while it runs.
#pragma once

#include "metrics/console/detail/log.hpp"
#include "metrics/console/detail/progress.hpp"
#include "metrics/console/detail/screen.hpp"
#include "metrics/step_record.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::metrics {

struct ConsoleOptions {
  bool quiet = false; ///< only the end
  LogFormat format = LogFormat::text;
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// A bar where the screen has one; else a line every five seconds and one for each epoch; or JSON
/// objects, {"time", "level", "event": run, step, skipped, epoch or end, ...}: a step's for the
/// first one, and then once a second (docs/runs.md). The
/// 1st, 2nd, 4th, 8th, ... step that loss scaling skips has a line of its own.
/// One thread at a time; others may write to the same screen.
class Console {
public:
  Console(Screen& screen, ConsoleOptions options) : screen_(screen), options_(std::move(options)) {}

  void begin(const RunInfo& run);
  /// Says nothing of the run, which a person knows already.
  void go_on(const RunInfo& run);
  void show(const StepRecord& step);
  void show(const EpochRecord& epoch);
  void show(const GeneratedRecord& generated);
  /// Always shown. `report` is the file that has more, `best` a line of the best epoch; both may be
  /// empty.
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
  std::optional<std::int64_t> skipped_;             ///< unknown where a run goes on
  std::chrono::steady_clock::time_point next_ = {}; ///< when a step is shown again
};

} // namespace troupe::metrics
