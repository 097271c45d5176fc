/// What a device can do at most, by its clocks and widths: for times that nobody has measured.
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

/// The peak that data sheets give. They count products of f16, bf16 and TF32 at a lower clock than
/// the maximum that the driver reports. 0 for capabilities whose widths are not known here.
PeakOperations peak_operations(const DeviceClocks& clocks);

/// Errors: those of the driver.
Result<DeviceClocks> clocks_of_device(int index);

struct DeviceRates {
  double bytes_per_second = 0;    ///< that kernels which only move reach
  double narrow_operations = 0;   ///< a second; products of f16 and bf16
  double wide_operations = 0;     ///< a second; products of f32, without TF32
  double launch_seconds = 1.4e-6; ///< of a kernel in a CUDA graph

  static DeviceRates of(const DeviceClocks& clocks);
  /// Errors: those of the driver.
  static Result<DeviceRates> of_device(int index);

  /// Microseconds in which what is to be moved and computed can be, whichever takes longer
  /// (Williams, Waterman & Patterson 2009), with the launches.
  double microseconds(const Traffic& traffic) const;
};

} // namespace troupe::gpu
