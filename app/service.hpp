/// Tells the service manager how a daemon is doing (systemd's sd_notify protocol, without its
/// library).
#pragma once

#include <string_view>

namespace troupe::app {

/// "READY=1", "STOPPING=1". Does nothing where no manager listens ($NOTIFY_SOCKET).
void notify_service_manager(std::string_view state);

} // namespace troupe::app
