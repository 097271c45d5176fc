/// What platforms have in common.
#pragma once

#include "training/platforms/platform.hpp"

#include <future>
#include <vector>

namespace troupe::training {

/// What every device likes that lowers a graph: fused patterns, and backward in place.
EngineOptions common_options(const Config& config);

/// Waits for all of them. Error: of the last that failed.
Result<Communicators>
all_of(std::vector<std::future<Result<std::unique_ptr<collectives::Communicator>>>>& connecting);

} // namespace troupe::training
