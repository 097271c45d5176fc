#include "gpu/detail/idle_calls.hpp"

#include "gpu/device_guard.hpp"

namespace troupe::gpu {

std::shared_ptr<IdleCalls> IdleCalls::of_process() {
  static std::mutex mutex;
  static std::weak_ptr<IdleCalls> shared;
  const std::lock_guard lock{mutex};
  auto calls = shared.lock();
  if (!calls) {
    calls = std::make_shared<IdleCalls>();
    shared = calls;
  }
  return calls;
}

IdleCalls::~IdleCalls() {
  free_all();
}

std::shared_ptr<void> IdleCalls::forbid() {
  const std::lock_guard lock{mutex_};
  ++tokens_;
  return {this, [me = shared_from_this()](void*) { me->allow(); }};
}

void IdleCalls::allow() {
  const std::lock_guard lock{mutex_};
  if (--tokens_ == 0)
    free_all();
}

bool IdleCalls::try_call(const std::function<void()>& call) {
  const std::lock_guard lock{mutex_};
  if (tokens_ > 0)
    return false;
  call();
  return true;
}

void IdleCalls::free_host(void* memory, std::size_t bytes, int device) {
  const std::lock_guard lock{mutex_};
  unfreed_.push_back({memory, bytes, device});
  if (tokens_ == 0)
    free_all();
}

void* IdleCalls::reuse(std::size_t bytes, std::size_t most) {
  const std::lock_guard lock{mutex_};
  auto found = unfreed_.end();
  for (auto memory = unfreed_.begin(); memory != unfreed_.end(); ++memory)
    if (memory->bytes >= bytes && memory->bytes <= most &&
        (found == unfreed_.end() || memory->bytes < found->bytes))
      found = memory;
  if (found == unfreed_.end())
    return nullptr;
  auto* const memory = found->data;
  unfreed_.erase(found);
  return memory;
}

void IdleCalls::free_all() {
  for (const auto& memory : unfreed_) {
    const DeviceGuard guard{memory.device};
    if (cudaFreeHost(memory.data) != cudaSuccess)
      cudaGetLastError(); // the device has failed; streams report it
  }
  unfreed_.clear();
}

} // namespace troupe::gpu
