/// Notifies the service manager of a daemon's state (systemd's sd_notify protocol, without its
/// library).
#pragma once

#include <string_view>

namespace troupe::app {

/// `state`: "READY=1", "STOPPING=1". Does nothing if no manager listens ($NOTIFY_SOCKET).
void notify_service_manager(std::string_view state);

} // namespace troupe::app
