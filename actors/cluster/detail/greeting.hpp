/// What a daemon says first to whoever connects: CAF's server handshake, with the version of our
/// program in it. Read by itself, before CAF connects, it tells what is wrong with a connection.
#pragma once

#include "../network.hpp"

#include <chrono>
#include <string>

namespace troupe::actors {

/// How programs of one version know each other (caf.middleman.app-identifiers).
std::string application_id(const std::string& version);

/// Connects, waits for the greeting, and closes, all within the timeout. Errors: those of
/// connect(), network with its cause.
Status check_greeting(const Endpoint& daemon, const NetworkOptions& options,
                      std::chrono::milliseconds timeout);

} // namespace troupe::actors
