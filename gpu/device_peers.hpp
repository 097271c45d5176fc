/// State that the CUDA devices of one node share.
#pragma once

#include "gpu/detail/idle_calls.hpp"
#include "gpu/stream_list.hpp"

#include <memory>

namespace troupe::gpu {

/// Each node of a process has its own list of streams. Copies share the original's state.
struct DevicePeers {
  std::shared_ptr<IdleCalls> idle_calls = IdleCalls::of_process();
  std::shared_ptr<StreamList> streams = std::make_shared<StreamList>();
};

} // namespace troupe::gpu
