/// Runs a job: the one place where files, devices, actors and what a person sees are put together.
#pragma once

#include "core/config/forward.hpp"
#include "core/error.hpp"
#include "metrics/step_record.hpp"

#include <functional>
#include <optional>
#include <string>

namespace troupe::actors {

enum class LogFormat : std::uint8_t { plain, json };

struct RunOptions {
  bool quiet = false;
  bool verbose = false; ///< logs more, unless quiet
  LogFormat log_format = LogFormat::plain;
  std::string version;     ///< of the program
  std::string config_text; ///< the resolved config, kept with the run
  std::string trace = {};  ///< file for a timeline (metrics/trace.hpp); empty: none
  /// `troupe node`: answers status and stop at cluster.listen; one that may begin a job stays after
  /// one that has not failed, until it is asked to drain, if it `stays`.
  bool daemon = false;
  bool witness = false; ///< one that trains nothing, and has a vote in who takes part
  bool stays = true; ///< that one: whoever has launched it together with others waits for its end
  /// Called once the company is there, with a function that asks it to drain (any thread, any
  /// time).
  std::function<void(std::function<void()> drain)> on_started;
  /// Of a daemon that cannot listen yet: called with the reason, once.
  std::function<void(const std::string&)> on_waiting = [](const auto&) {};
  /// Whether somebody has asked to stop before on_started could be called (any thread).
  std::function<bool()> stop_asked = [] { return false; };
  /// Called with errno when a line cannot be written to stdout (any thread): the run goes on.
  std::function<void(int error)> on_output_lost = {};
  /// Called once there is nothing left to drain; Prometheus may still be waited for.
  std::function<void()> on_ended = {};
};

struct RunEnd : metrics::RunSummary {
  std::optional<Error> failure = {}; ///< of a run that has failed
};

/// Prepares, trains, and returns when the run has ended: completed, stopped, or failed (the
/// summary's status; its error was shown). Errors of what could not even begin are returned.
Result<RunEnd> run_training(const Config& config, const RunOptions& options);

} // namespace troupe::actors
