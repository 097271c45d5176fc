/// The handshake of a daemon: CAF's server handshake, which contains our program's version. It is
/// read once before CAF connects, because CAF does not report why a connection fails.
#pragma once

#include "actors/node/network.hpp"

#include <chrono>
#include <string>

namespace troupe::actors {

/// Returns the identifier that all programs of one version share (caf.middleman.app-identifiers).
std::string application_id(const std::string& version);

/// Connects, waits for the handshake, and closes, all within the timeout. Errors: those of
/// connect(), network with its cause.
Status check_handshake(const Endpoint& daemon, const NetworkOptions& options,
                       std::chrono::milliseconds timeout);

} // namespace troupe::actors
