/// Makes a device the calling thread's current one, and puts the former back: actors move between
/// threads, and a process may have several devices.
#pragma once

#include <cuda_runtime_api.h>

namespace troupe::gpu {

class DeviceGuard {
public:
  explicit DeviceGuard(int device) {
    if (cudaGetDevice(&former_) != cudaSuccess || former_ == device)
      former_ = -1;
    else
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
