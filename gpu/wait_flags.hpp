/// Streams that wait for the host without occupying a host thread.
///
/// The stream polls a word of page-locked memory (cuStreamWaitValue32), which a thread that never
/// calls CUDA writes (DeviceContext::waits). No kernel runs meanwhile, no driver thread is blocked
/// (as by a host function), and later work is already in the device's queue. One rule: on one
/// device, at most as many streams may wait this way as it has hardware queues (8 unless
/// CUDA_DEVICE_MAX_CONNECTIONS is higher). Otherwise a stream that shares a queue with a waiting
/// stream waits, too (StreamList::separate).
///
/// In the other direction, a stream writes such a word when it reaches a point (StreamMark).
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

  /// Returns a flag that is not raised (0). Give it back when no stream polls it any more.
  Result<std::uint32_t*> take();
  void give_back(std::uint32_t* flag);
  /// Returns the flag's address for work on the device.
  Result<const std::uint32_t*> address_on_device(std::uint32_t* flag) const;
  /// Makes later work of the stream wait for raise(flag).
  Status enqueue_wait(cudaStream_t stream, std::uint32_t* flag);
  /// Makes the stream raise the flag when it reaches this point.
  Status enqueue_raise(cudaStream_t stream, std::uint32_t* flag);
  /// Lets the streams that wait for the flag continue. May be called from any thread.
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
  /// Not held during CUDA calls: threads that end waits give flags back.
  std::mutex mutex_;
  std::vector<std::uint32_t*> pages_, free_;
  std::mutex finding_; ///< guards the members below
  void *wait_value_ = nullptr,
       *write_value_ = nullptr; ///< cuStreamWaitValue32, cuStreamWriteValue32
};

} // namespace troupe::gpu
