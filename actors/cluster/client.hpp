/// Asks a daemon from outside, over the connection that the nodes of a cluster use too. Calls
/// block, for a few exchanges that each take at most the timeout.
#pragma once

#include "job_status.hpp"

#include "troupe/core/config/cluster.hpp"
#include "troupe/core/error.hpp"
#include "troupe/core/units.hpp"

#include <chrono>
#include <string>

namespace troupe::actors {

struct ClientOptions {
  Endpoint daemon;
  TlsConfig tls = {};
  std::string version; ///< of the program
  std::chrono::milliseconds timeout{5000};
};

/// Errors, of ask_to_stop too: those of connect() (network.hpp); network when it does not answer.
Result<JobStatus> ask_status(const ClientOptions& options);

/// Asks the daemon to drain: to finish its steps, write a checkpoint and leave. Returns when it has
/// said that it will, or with `wait`, however long that takes, when it has gone.
Status ask_to_stop(const ClientOptions& options, bool wait);

} // namespace troupe::actors
