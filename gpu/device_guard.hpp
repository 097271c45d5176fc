/// Makes a device the calling thread's current one. Actors move between threads, and a process may
/// have several devices. Sets the device even if it is current already: on a new thread, device 0
/// is current but its context is not bound. cudaSetDevice() binds it, which libraries that call the
/// driver need.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

namespace troupe::gpu {

/// The destructor restores the device of the enclosing guard, if there is one. Without one, the
/// thread keeps this device: setting device 0 "again" would create a context of half a gigabyte
/// there, in a process that uses another device.
class DeviceGuard {
public:
  explicit DeviceGuard(int device) : outer_{std::exchange(current(), device)} {
    cudaSetDevice(device);
  }
  ~DeviceGuard() {
    current() = outer_;
    if (outer_ >= 0)
      cudaSetDevice(outer_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

private:
  /// The device of the thread's innermost guard, or -1.
  static int& current() {
    thread_local int device = -1;
    return device;
  }

  int outer_;
};

} // namespace troupe::gpu
