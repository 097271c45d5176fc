/// Waits until this host has the addresses in its config.
#pragma once

#include "actors/node_runtime.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

#include <chrono>
#include <functional>
#include <string>

namespace troupe::actors {

struct ListenAddress {
  std::string key; ///< config key, for errors
  Endpoint listen;
};

/// Waits until a socket can listen at this address: while a machine starts, names may not resolve
/// yet, and interfaces may have no addresses. The port may be in use. `stopped_within` pauses for
/// the given time, and returns true if the process is asked to stop. Errors: network, after the
/// limit; stopped.
Status await_listen_address(const ListenAddress& own, std::chrono::milliseconds limit,
                            const std::function<void(const std::string&)>& say,
                            const std::function<bool(std::chrono::milliseconds)>& stopped_within);

/// The same for all addresses at which a daemon listens, until the quorum timeout.
Status await_listen_addresses(const Config& config, const RunOptions& options);

} // namespace troupe::actors
