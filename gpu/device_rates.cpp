#include "gpu/device_rates.hpp"

#include "core/fail.hpp"
#include "gpu/cuda_error.hpp"

#include <algorithm>
#include <cmath>
#include <cuda_runtime_api.h>
#include <iterator>

namespace troupe::gpu {

namespace {

/// Share of the memory bandwidth that copies reach, and share of the peak operations that products
/// reach.
constexpr double share_of_bandwidth = 0.9, share_of_operations = 0.6;

struct PerClock {
  double narrow,
      wide; ///< operations per multiprocessor; a multiplication and addition count as two
};

PerClock per_clock(int capability) {
  if (capability >= 90)
    return {4096, 256};
  return capability == 80 ? PerClock{2048, 128} : PerClock{1024, 256};
}

struct BoostClocks {
  double maximum, tensor; ///< hertz
};

/// Boost clocks of GPUs with sm_90. NVIDIA's H100 white paper lists two per GPU; data sheets count
/// tensor cores (989, 756 and 835 TFLOP/s) at the lower one, and f32 at the maximum.
constexpr BoostClocks boost_clocks[] = {{1.98e9, 1.83e9},    // H100 SXM, H200, GH200
                                        {1.755e9, 1.62e9},   // H100 PCIe
                                        {1.785e9, 1.545e9}}; // H100 NVL, H200 NVL

/// Returns the clock at which the data sheet counts tensor core operations. If the clock is
/// limited, or the GPU is not in the table, returns the clock itself.
double tensor_hertz(const DeviceClocks& clocks) {
  if (clocks.capability != 90)
    return clocks.core_hertz;
  const auto* const found = std::ranges::find_if(boost_clocks, [&](const BoostClocks& boost) {
    return std::abs(boost.maximum - clocks.core_hertz) < 1e6;
  });
  return found == std::end(boost_clocks) ? clocks.core_hertz : found->tensor;
}

} // namespace

DeviceRates DeviceRates::of(const DeviceClocks& clocks) {
  const double transfers = 2 * clocks.memory_hertz; // two per clock (double data rate)
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
  const double tensor_cycles = tensor_hertz(clocks) * clocks.multiprocessors;
  const auto [narrow, wide] = per_clock(clocks.capability);
  return {
      .f32 = wide * cycles, .tf32 = narrow / 2 * tensor_cycles, .narrow = narrow * tensor_cycles};
}

Result<DeviceRates> DeviceRates::of_device(int index) {
  TROUPE_TRY(const auto clocks, clocks_of_device(index));
  return of(clocks);
}

Result<DeviceClocks> clocks_of_device(int index) {
  int major = 0, minor = 0, core_kilohertz = 0, memory_kilohertz = 0;
  DeviceClocks clocks;
  const auto ask = [index](cudaDeviceAttr attribute, int& value) {
    return cuda_status(cudaDeviceGetAttribute(&value, attribute, index), "querying the clock rates",
                       index);
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
