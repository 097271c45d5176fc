/// The thread that calls NCCL for a GPU: NCCL cannot take two calls for one GPU at once. Only the
/// abort of a call in which the driver blocks this thread comes from another one.
#pragma once

#include "collectives/nccl/library.hpp"
#include "gpu/cuda_device.hpp"

#include <chrono>
#include <functional>
#include <future>
#include <memory>

namespace troupe::collectives {

/// Shared by all communicators of a GPU in this process. The thread is detached: the process can
/// end even if NCCL does not return from a call.
class NcclOwner {
public:
  /// Errors: unsupported, without NCCL.
  static Result<std::shared_ptr<NcclOwner>> create(std::shared_ptr<gpu::CudaDevice> device);
  NcclOwner(std::shared_ptr<gpu::CudaDevice> device, const NcclLibrary& library);
  ~NcclOwner();
  NcclOwner(const NcclOwner&) = delete;
  NcclOwner& operator=(const NcclOwner&) = delete;

  gpu::CudaDevice& device() const { return *device_; }
  const NcclLibrary& library() const { return library_; }
  /// Runs the task on the thread, with the GPU current, after all tasks enqueued before. Never
  /// blocks.
  void post(std::function<void()> task);
  /// Runs the task in the same way and waits for its result: the watchdog of calls that may
  /// hang. Errors: the task's; collective, if the task has not returned within `limit`.
  Status run(std::function<Status()> task, std::string_view what, std::chrono::milliseconds limit);

private:
  struct Queue;

  std::shared_ptr<gpu::CudaDevice> device_;
  NcclLibrary library_;
  std::shared_ptr<Queue> queue_; ///< shared with the thread, which may outlive this object
};

} // namespace troupe::collectives
