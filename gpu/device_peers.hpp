/// What the CUDA devices of one node share.
#pragma once

#include "detail/idle_calls.hpp"

#include <memory>

namespace troupe::gpu {

/// Each node of a process has its own; copies are the same.
struct DevicePeers {
  std::shared_ptr<IdleCalls> idle_calls = std::make_shared<IdleCalls>();
};

} // namespace troupe::gpu
