/// Requests of `troupe status` and `troupe stop` to a daemon, at the port that nodes use too. Calls
/// block, at most for the timeout.
#pragma once

#include "actors/job_status.hpp"
#include "actors/stop_reason.hpp"
#include "core/config/cluster.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

#include <chrono>
#include <string>

namespace troupe::actors {

struct ClientOptions {
  Endpoint daemon;
  TlsConfig tls = {};
  std::string version; ///< of the program
  std::chrono::milliseconds timeout{5000};
};

/// Errors, also of ask_to_stop: those of connect() (network.hpp); network if the daemon does not
/// answer.
Result<JobStatus> ask_status(const ClientOptions& options);

/// Returns when the daemon has confirmed that it will stop; with `wait`, when it has ended, however
/// long that takes. Returns its status from before, with an empty phase if it did not answer in
/// time. Error: also invalid_input, if only this node is to stop, and the job needs it as its
/// leader.
Result<JobStatus> ask_to_stop(const ClientOptions& options, StopReason what, bool wait);

} // namespace troupe::actors
