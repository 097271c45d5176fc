/// All platforms.
#pragma once

#include "training/platforms/platform.hpp"

#include <span>

namespace troupe::training {

/// Platforms in the order in which devices.kind: auto tries them.
std::span<const Platform> platforms();

/// Returns the platform that a config names, else the first that suits it.
const Platform& platform_of(const DevicesConfig& devices);

/// Returns the threads of a host worker: as configured, else the cores that this process may run
/// on, divided among the workers.
int threads_per_worker(const DevicesConfig& devices);

/// Returns the capabilities of this build on this machine, for checking configs.
Capabilities machine_capabilities();

/// Prepares the process for all platforms. Call it while the process has one thread.
Status prepare_process();

} // namespace troupe::training
