#include "gpu/device_context.hpp"

#include "core/fail.hpp"
#include "gpu/cuda_error.hpp"
#include "gpu/device_guard.hpp"

#include <fmt/format.h>

namespace troupe::gpu {

DeviceContext::DeviceContext(int device, DevicePeers peers, Say say)
    : index_{device}, peers_{std::move(peers)}, say_{std::move(say)}, events_{device},
      clock_{device}, flags_{device, peers_.idle_calls},
      poller_{fmt::format("cuda{} poller", device),
              [device] { return std::make_shared<DeviceGuard>(device); }},
      waits_{fmt::format("cuda{} waits", device)} {}

Result<std::shared_ptr<DeviceContext>> DeviceContext::create(int device, DevicePeers peers,
                                                             Say say) {
  TROUPE_TRY(auto memory, CudaMemory::create(device, peers.idle_calls));
  auto context = std::make_shared<DeviceContext>(device, std::move(peers), std::move(say));
  context->memory_ = std::move(memory);
  context->staging_ = std::make_shared<StagingPool>(context->memory_);
  TROUPE_TRY(context->staging_->fill());
  TROUPE_TRY(context->start_clock());
  return context;
}

void DeviceContext::say(const std::string& line) {
  const std::lock_guard lock{saying_};
  if (say_)
    say_(line);
}

Status DeviceContext::start_clock() {
  const DeviceGuard guard{index_};
  TROUPE_TRY(auto base, events_.take(true));
  cudaStream_t stream = nullptr;
  TROUPE_TRY(cuda_status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                         "creating a stream", index_));
  auto code = cudaEventRecord(base.get(), stream);
  if (code == cudaSuccess)
    code = cudaEventSynchronize(base.get());
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  cudaStreamDestroy(stream);
  TROUPE_TRY(cuda_status(code, "starting the clock", index_));
  clock_.start(std::move(base), now);
  return {};
}

} // namespace troupe::gpu
