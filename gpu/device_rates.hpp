/// Peak rates of GPUs by their data sheets, and the rates that kernels reach, to estimate times
/// that were not measured.
#pragma once

#include "core/choice.hpp"
#include "core/device/device.hpp"
#include "core/error.hpp"
#include "gpu/traffic.hpp"

#include <array>
#include <string>

namespace troupe::gpu {

struct DeviceClocks {
  std::string name = {}; ///< as the driver reports it: "NVIDIA H100 80GB HBM3"
  int capability = 90;   ///< 90 for sm_90
  int multiprocessors = 0;
  double core_hertz = 0, memory_hertz = 0;
  int memory_bits = 0; ///< width of the memory's bus
};

/// Returns the peak that the data sheet of the GPU states: dense, products of f16 and bf16
/// accumulated in f32. For unlisted GPUs with sm_80 or sm_90 (such as slices of a GPU), returns the
/// peak at the maximum clock, which may be up to 8% above that of a data sheet. 0 for all others.
PeakOperations peak_operations(const DeviceClocks& clocks);

/// Returns the bytes per second of the GPU's memory by its data sheet, or for unlisted GPUs at the
/// maximum clock.
double peak_bandwidth(const DeviceClocks& clocks);

/// Errors: those of the driver.
Result<DeviceClocks> clocks_of_device(int index);

/// Rates that kernels reach.
struct DeviceRates {
  double bytes_per_second = 0;
  /// Per second, by OperationClass.
  std::array<double, choice_words<OperationClass>.size()> operations = {};
  double launch_seconds = 0; ///< per kernel in a CUDA graph

  /// Scales the rates of an H100 by the peaks: those of the data sheet, or those at the maximum
  /// clock for an unlisted GPU.
  static DeviceRates of(const DeviceClocks& clocks);
  /// Errors: those of the driver.
  static Result<DeviceRates> of_device(int index);

  double operations_per_second(OperationClass of) const {
    return operations[static_cast<std::size_t>(of)];
  }

  /// Estimates the microseconds of the traffic: the longer of moving and computing (Williams,
  /// Waterman & Patterson 2009), plus the launches.
  double microseconds(const Traffic& traffic) const;
};

} // namespace troupe::gpu
