/// Runs a job: puts together files, devices, actors and the output for a person.
#pragma once

#include "core/config/forward.hpp"
#include "core/error.hpp"
#include "metrics/console/console.hpp"
#include "metrics/records/run.hpp"

#include <functional>
#include <optional>
#include <string>

namespace troupe::actors {

struct RunOptions {
  bool quiet = false;
  bool verbose = false; ///< logs more, unless quiet
  metrics::LogFormat log_format = metrics::LogFormat::text;
  std::string version;     ///< of the program
  std::string config_text; ///< the resolved config, saved with the run
  std::string trace = {};  ///< file for a timeline (metrics/trace.hpp); empty: none
  /// `troupe node`: answers status and stop requests at cluster.listen. With `stays`, a daemon that
  /// may begin jobs keeps running after a completed one until it is asked to drain.
  bool daemon = false;
  bool witness = false; ///< a daemon that trains nothing, and votes on the members of the job
  bool stays = true; ///< false: a launcher started this daemon with others, and waits for its end
  /// Called when the node runtime has started, with a function that asks it to drain (any thread,
  /// any time).
  std::function<void(std::function<void()> drain)> on_started;
  /// Called once, with the reason, if a daemon cannot listen yet.
  std::function<void(const std::string&)> on_waiting = [](const auto&) {};
  /// Returns whether a stop was requested before on_started could be called (any thread).
  std::function<bool()> stop_asked = [] { return false; };
  /// Called with errno when a line cannot be written to stdout (any thread). The run continues.
  std::function<void(int error)> on_output_lost = {};
  /// Called when nothing is left to drain. The process may still wait for a scrape by Prometheus.
  std::function<void()> on_ended = {};
};

struct RunEnd : metrics::RunSummary {
  std::optional<Error> failure = {}; ///< set if the run has failed
};

/// Prepares, trains, and returns when the run has ended: completed, stopped, or failed (the
/// summary's status; its error was shown). Returns an error if the run could not begin.
Result<RunEnd> run_training(const Config& config, const RunOptions& options);

} // namespace troupe::actors
