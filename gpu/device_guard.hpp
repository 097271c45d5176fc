/// Makes a device the calling thread's current one, and puts the former back: actors move between
/// threads, and a process may have several devices. The device is set even where it is current
/// already: a new thread has the first device for its current one, and no context of it yet, which
/// cudaSetDevice() binds and libraries that talk to the driver need.
#pragma once

#include <cuda_runtime_api.h>

namespace troupe::gpu {

class DeviceGuard {
public:
  explicit DeviceGuard(int device) {
    if (cudaGetDevice(&former_) != cudaSuccess || former_ == device)
      former_ = -1;
    cudaSetDevice(device);
  }
  ~DeviceGuard() {
    if (former_ >= 0)
      cudaSetDevice(former_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

private:
  int former_ = -1;
};

} // namespace troupe::gpu
