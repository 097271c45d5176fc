/// Code shared by platforms.
#pragma once

#include "training/platforms/platform.hpp"

#include <cstddef>
#include <functional>
#include <memory>

namespace troupe::training {

/// Returns options for every device that lowers a graph: fused patterns, and backward in place.
EngineOptions common_options(const Config& config);

using ConnectRank =
    std::function<Result<std::unique_ptr<collectives::Communicator>>(std::size_t index)>;
/// Calls `connect` for each index below `ranks`, all at the same time, because each rank waits for
/// all others. Waits until all are connected or have failed. Error: that of the last rank that
/// failed.
Result<Communicators> connect_all(std::size_t ranks, const ConnectRank& connect);

} // namespace troupe::training
