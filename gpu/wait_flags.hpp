/// Streams that wait for the host without a thread of the host waiting with them.
///
/// A word of page-locked memory; the stream polls it (cuStreamWaitValue32), a thread that never
/// calls CUDA writes it (DeviceContext::waits). No kernel runs meanwhile, no driver thread is held
/// up (as in a host function), and what is behind it is already in the device's queue. One rule:
/// streams of one device that wait this way must not be more than it has hardware queues (8 unless
/// CUDA_DEVICE_MAX_CONNECTIONS says more), or a stream that shares the queue of one that waits
/// waits with it (StreamList::separate).
///
/// The other way round, a stream writes such a word when it comes to a point (StreamMark).
#pragma once

#include "core/error.hpp"
#include "gpu/detail/idle_calls.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// Thread-safe. Must outlive the streams that wait.
class WaitFlags {
public:
  explicit WaitFlags(int device, std::shared_ptr<IdleCalls> idle_calls = IdleCalls::of_process())
      : device_{device}, idle_calls_{std::move(idle_calls)} {}
  ~WaitFlags();
  WaitFlags(const WaitFlags&) = delete;
  WaitFlags& operator=(const WaitFlags&) = delete;

  /// A flag that is down: 0. It must be given back when no stream looks at it any more.
  Result<std::uint32_t*> take();
  void give_back(std::uint32_t* flag);
  /// As work of the device reads it.
  Result<const std::uint32_t*> address_on_device(std::uint32_t* flag) const;
  /// Work enqueued on the stream from now on starts after raise(flag).
  Status enqueue_wait(cudaStream_t stream, std::uint32_t* flag);
  /// The stream raises the flag when it comes here.
  Status enqueue_raise(cudaStream_t stream, std::uint32_t* flag);
  /// Lets the streams that wait for the flag go on. May be called from any thread.
  static void raise(std::uint32_t* flag) {
    std::atomic_ref<std::uint32_t>{*flag}.store(1, std::memory_order_release);
  }
  static bool is_raised(std::uint32_t* flag) {
    return std::atomic_ref<std::uint32_t>{*flag}.load(std::memory_order_acquire) != 0;
  }

private:
  Status add_page();
  Status find_driver_functions();
  Status outcome(int code, const char* what) const;

  int device_;
  std::shared_ptr<IdleCalls> idle_calls_;
  /// Not held during calls of CUDA: threads that end waits give flags back.
  std::mutex mutex_;
  std::vector<std::uint32_t*> pages_, free_;
  std::mutex finding_;                                  ///< guards what follows
  void *wait_value_ = nullptr, *write_value_ = nullptr; ///< cuStreamWaitValue32 and its like
};

} // namespace troupe::gpu
