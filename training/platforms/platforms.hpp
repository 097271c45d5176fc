/// The platforms that there are.
#pragma once

#include "training/platforms/platform.hpp"

#include <span>

namespace troupe::training {

/// In the order in which devices.kind: auto tries them.
std::span<const Platform> platforms();

/// The one that a config asks for, or else the first that suits it.
const Platform& platform_of(const DevicesConfig& devices);

/// Threads of a host worker: the cores that this process may run on, divided among the workers,
/// unless the config says.
int threads_per_worker(const DevicesConfig& devices);

/// What configs of this build are checked against on this machine.
Capabilities machine_capabilities();

/// Prepares for all platforms: to be called while the process has one thread.
Status prepare_process();

} // namespace troupe::training
