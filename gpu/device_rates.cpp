#include "device_rates.hpp"

#include "cuda_error.hpp"
#include "troupe/core/fail.hpp"

#include <algorithm>
#include <cuda_runtime_api.h>

namespace troupe::gpu {

namespace {

/// The share of the memory's bandwidth that copies reach, and the share of the cores' operations
/// that products reach.
constexpr double share_of_bandwidth = 0.9, share_of_operations = 0.6;

struct PerClock {
  double narrow, wide; ///< operations of a multiprocessor, two for a multiplication and addition
};

PerClock per_clock(int capability) {
  if (capability >= 90)
    return {4096, 256};
  return capability == 80 ? PerClock{2048, 128} : PerClock{1024, 256};
}

} // namespace

DeviceRates DeviceRates::of(const DeviceClocks& clocks) {
  const double transfers = 2 * clocks.memory_hertz; // at both edges of the clock
  const double cycles = clocks.core_hertz * clocks.multiprocessors * share_of_operations;
  const auto operations = per_clock(clocks.capability);
  return {.bytes_per_second = share_of_bandwidth * transfers * clocks.memory_bits / 8,
          .narrow_operations = operations.narrow * cycles,
          .wide_operations = operations.wide * cycles};
}

PeakOperations peak_operations(const DeviceClocks& clocks) {
  if (clocks.capability != 80 && clocks.capability != 90)
    return {};
  const double cycles = clocks.core_hertz * clocks.multiprocessors;
  const auto [narrow, wide] = per_clock(clocks.capability);
  return {.f32 = wide * cycles, .tf32 = narrow / 2 * cycles, .narrow = narrow * cycles};
}

Result<DeviceRates> DeviceRates::of_device(int index) {
  TROUPE_TRY(const auto clocks, clocks_of_device(index));
  return of(clocks);
}

Result<DeviceClocks> clocks_of_device(int index) {
  int major = 0, minor = 0, core_kilohertz = 0, memory_kilohertz = 0;
  DeviceClocks clocks;
  const auto ask = [index](cudaDeviceAttr attribute, int& value) {
    return cuda_status(cudaDeviceGetAttribute(&value, attribute, index), "asking for rates", index);
  };
  TROUPE_TRY(ask(cudaDevAttrComputeCapabilityMajor, major));
  TROUPE_TRY(ask(cudaDevAttrComputeCapabilityMinor, minor));
  TROUPE_TRY(ask(cudaDevAttrMultiProcessorCount, clocks.multiprocessors));
  TROUPE_TRY(ask(cudaDevAttrClockRate, core_kilohertz));
  TROUPE_TRY(ask(cudaDevAttrMemoryClockRate, memory_kilohertz));
  TROUPE_TRY(ask(cudaDevAttrGlobalMemoryBusWidth, clocks.memory_bits));
  clocks.capability = 10 * major + minor;
  clocks.core_hertz = 1e3 * core_kilohertz;
  clocks.memory_hertz = 1e3 * memory_kilohertz;
  return clocks;
}

double DeviceRates::microseconds(const Traffic& traffic) const {
  const double rate = traffic.type == DType::f32 ? wide_operations : narrow_operations;
  return 1e6 * (launch_seconds * traffic.launches +
                std::max(traffic.moved() / bytes_per_second, traffic.operations / rate));
}

} // namespace troupe::gpu
