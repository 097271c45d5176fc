/// Asks a daemon from outside, over the connection that the nodes of a cluster use too. Calls
/// block, at most for the timeout.
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

/// What becomes of the job of a daemon that is asked to stop.
enum class Stopping : std::uint8_t {
  job, ///< all finish their steps, save, and leave
  node ///< the others go on without this one
};

/// Returns when the daemon has said that it will stop, or with `wait`, however long that takes,
/// when it has gone. Returns the status that it had before, with an empty phase if it did not
/// answer in time. Errors: also invalid_input, where it leads others and is to go alone.
Result<JobStatus> ask_to_stop(const ClientOptions& options, Stopping what, bool wait);

} // namespace troupe::actors
