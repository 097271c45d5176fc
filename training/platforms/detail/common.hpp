/// Code shared by platforms.
#pragma once

#include "training/platforms/platform.hpp"

#include <future>
#include <vector>

namespace troupe::training {

/// Returns options for every device that lowers a graph: fused patterns, and backward in place.
EngineOptions common_options(const Config& config);

/// Waits until all ranks are connected or have failed. Error: that of the last rank that failed.
Result<Communicators>
all_of(std::vector<std::future<Result<std::unique_ptr<collectives::Communicator>>>>& connecting);

} // namespace troupe::training
