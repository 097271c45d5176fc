/// Peak rates of a device, from its clocks and widths, to estimate times that were not measured.
#pragma once

#include "core/device/device.hpp"
#include "core/error.hpp"
#include "gpu/traffic.hpp"

namespace troupe::gpu {

struct DeviceClocks {
  int capability = 90; ///< 90 for sm_90
  int multiprocessors = 0;
  double core_hertz = 0, memory_hertz = 0;
  int memory_bits = 0; ///< width of the memory's bus
};

/// Returns the peak that data sheets state. They count products of f16, bf16 and TF32 at a lower
/// clock than the maximum that the driver reports. 0 for unknown compute capabilities.
PeakOperations peak_operations(const DeviceClocks& clocks);

/// Errors: those of the driver.
Result<DeviceClocks> clocks_of_device(int index);

struct DeviceRates {
  double bytes_per_second = 0;    ///< that memory-bound kernels reach
  double narrow_operations = 0;   ///< per second; products of f16 and bf16
  double wide_operations = 0;     ///< per second; products of f32, without TF32
  double launch_seconds = 1.4e-6; ///< per kernel in a CUDA graph

  static DeviceRates of(const DeviceClocks& clocks);
  /// Errors: those of the driver.
  static Result<DeviceRates> of_device(int index);

  /// Estimates the microseconds of the traffic: the longer of moving and computing (Williams,
  /// Waterman & Patterson 2009), plus the launches.
  double microseconds(const Traffic& traffic) const;
};

} // namespace troupe::gpu
