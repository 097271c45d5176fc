#include "collectives/nccl/detail/owner.hpp"

#include "core/fail.hpp"
#include "gpu/device_guard.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace troupe::collectives {

struct NcclOwner::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool ending = false;

  void work(int device) {
    const gpu::DeviceGuard guard{device};
    for (;;) {
      std::unique_lock lock{mutex};
      changed.wait(lock, [this] { return ending || !tasks.empty(); });
      if (tasks.empty())
        return;
      auto task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
    }
  }
};

Result<std::shared_ptr<NcclOwner>> NcclOwner::create(std::shared_ptr<gpu::CudaDevice> device) {
  TROUPE_TRY(const auto library, open_nccl());
  return std::make_shared<NcclOwner>(std::move(device), library);
}

NcclOwner::NcclOwner(std::shared_ptr<gpu::CudaDevice> device, const NcclLibrary& library)
    : device_{std::move(device)}, library_{library}, queue_{std::make_shared<Queue>()} {
  std::thread{[queue = queue_, index = device_->info().index] { queue->work(index); }}.detach();
}

NcclOwner::~NcclOwner() {
  const std::lock_guard lock{queue_->mutex};
  queue_->ending = true;
  queue_->changed.notify_one();
}

void NcclOwner::post(std::function<void()> task) {
  const std::lock_guard lock{queue_->mutex};
  queue_->tasks.push_back(std::move(task));
  queue_->changed.notify_one();
}

Status NcclOwner::run(std::function<Status()> task, std::string_view what,
                      std::chrono::milliseconds limit) {
  auto outcome = std::make_shared<std::promise<Status>>();
  auto future = outcome->get_future();
  post([task = std::move(task), outcome] { outcome->set_value(task()); });
  if (future.wait_for(limit) == std::future_status::ready)
    return future.get();
  return fail(Errc::collective, "NCCL did not return from {} within {} ms", what, limit.count());
}

} // namespace troupe::collectives
