/// Whether this host has the addresses that its config names.
#pragma once

#include "../company.hpp"

#include "troupe/core/error.hpp"
#include "troupe/core/units.hpp"

#include <chrono>
#include <functional>
#include <string>

namespace troupe::actors {

struct OwnHost {
  std::string key; ///< of the config, for errors
  Endpoint listen;
};

/// Waits until one can listen at that host: while a machine starts, names do not resolve yet, and
/// interfaces have no addresses. Whether the port is free does not matter here. `stopped_within`
/// pauses for so long; true: somebody asks to stop. Errors: network, when the limit is over;
/// stopped.
Status await_own_host(const OwnHost& own, std::chrono::milliseconds limit,
                      const std::function<void(const std::string&)>& say,
                      const std::function<bool(std::chrono::milliseconds)>& stopped_within);

/// The same for all addresses at which a daemon listens, until the quorum timeout.
Status await_own_hosts(const Config& config, const RunOptions& options);

} // namespace troupe::actors
