/// Makes a device the calling thread's current one: actors move between threads, and a process may
/// have several devices. The device is set even where it is current already: a new thread has the
/// first device for its current one, and no context of it yet, which cudaSetDevice() binds and
/// libraries that talk to the driver need.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

namespace troupe::gpu {

/// Puts back the device of the guard around it, if there is one. A thread without any keeps this
/// device: setting the first device "again" would make a context there, of half a gigabyte, in a
/// process that uses another.
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
