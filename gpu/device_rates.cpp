#include "gpu/device_rates.hpp"

#include "core/fail.hpp"
#include "gpu/cuda_error.hpp"

#include <algorithm>
#include <cuda_runtime_api.h>
#include <string_view>

namespace troupe::gpu {

namespace {

/// Peaks in TFLOP/s, dense, and TB/s. `narrow` accumulates in f32: GeForce GPUs do that at half the
/// rate of their peak in f16.
struct DataSheet {
  std::string_view name; ///< as the driver reports it
  double narrow, tf32, f32, bandwidth;
};

/// Sources: NVIDIA's data sheets of H100, H200, GH200, A100 and DGX B200, and the white papers of
/// the Ada and Blackwell GeForce architectures. Data sheets that list rates with sparsity are
/// halved.
constexpr DataSheet data_sheets[] = {
    {"NVIDIA A100-SXM4-40GB", 312, 156, 19.5, 1.555},
    {"NVIDIA A100-SXM4-80GB", 312, 156, 19.5, 2.039},
    {"NVIDIA A100-PCIE-40GB", 312, 156, 19.5, 1.555},
    {"NVIDIA A100 80GB PCIe", 312, 156, 19.5, 1.935},
    {"NVIDIA H100 80GB HBM3", 989, 494.5, 67, 3.35}, // SXM
    {"NVIDIA H100 PCIe", 756, 378, 51, 2.0},
    {"NVIDIA H100 NVL", 835, 417.5, 60, 3.9},
    {"NVIDIA H200", 989, 494.5, 67, 4.8}, // SXM
    {"NVIDIA H200 NVL", 835, 417.5, 60, 4.8},
    {"NVIDIA GH200 480GB", 989, 494.5, 67, 4.0}, // 480 GB of the host's memory, 96 GB of its own
    {"NVIDIA B200", 2250, 1125, 75, 8.0},
    {"NVIDIA GeForce RTX 4090", 165.2, 82.6, 82.6, 1.008},
    {"NVIDIA GeForce RTX 5090", 209.5, 104.8, 104.8, 1.792},
};

/// Rates that kernels reach on an H100 SXM, in TFLOP/s by OperationClass and in TB/s. Other GPUs
/// reach the same shares of their peaks.
namespace h100 {

/// Large products by cuBLASLt: 600 to 650.
constexpr double narrow = 625;
constexpr double wide = 40;
/// cuDNN's fused attention, averaged over forward and backward, which is slower.
constexpr double cudnn_attention = 300;
/// Our kernels compute in f32, bound by the bandwidth of shared memory: six loads for eight
/// multiply-adds forward, four for four backward.
constexpr double attention = 14, attention_backward = 10;
constexpr double bandwidth = 2.7;

constexpr double peak_narrow = 989, peak_f32 = 67, peak_bandwidth = 3.35;

} // namespace h100

/// From launch to launch in a CUDA graph.
constexpr double launch_seconds_of_graphs = 1.4e-6;

constexpr double tera = 1e12;

struct PerClock {
  double narrow,
      wide; ///< operations per multiprocessor; a multiplication and addition count as two
};

PerClock per_clock(int capability) {
  if (capability >= 90)
    return {4096, 256};
  return capability == 80 ? PerClock{2048, 128} : PerClock{1024, 256};
}

/// Returns the data sheet, or for an unlisted GPU the peaks at the maximum clock.
DataSheet peaks_of(const DeviceClocks& clocks) {
  const auto* const listed = std::ranges::find(data_sheets, clocks.name, &DataSheet::name);
  if (listed != std::end(data_sheets))
    return *listed;
  const double cycles = clocks.core_hertz * clocks.multiprocessors / tera;
  const auto [narrow, wide] = per_clock(clocks.capability);
  const double transfers = 2 * clocks.memory_hertz; // two per clock (double data rate)
  return {.name = {},
          .narrow = narrow * cycles,
          .tf32 = narrow / 2 * cycles,
          .f32 = wide * cycles,
          .bandwidth = transfers * clocks.memory_bits / 8 / tera};
}

} // namespace

PeakOperations peak_operations(const DeviceClocks& clocks) {
  const auto peaks = peaks_of(clocks);
  if (peaks.name.empty() && clocks.capability != 80 && clocks.capability != 90)
    return {};
  return {.f32 = tera * peaks.f32, .tf32 = tera * peaks.tf32, .narrow = tera * peaks.narrow};
}

double peak_bandwidth(const DeviceClocks& clocks) {
  return tera * peaks_of(clocks).bandwidth;
}

DeviceRates DeviceRates::of(const DeviceClocks& clocks) {
  const auto peaks = peaks_of(clocks);
  const double narrow = tera * peaks.narrow / h100::peak_narrow;
  const double wide = tera * peaks.f32 / h100::peak_f32;
  return {.bytes_per_second = tera * peaks.bandwidth * h100::bandwidth / h100::peak_bandwidth,
          .operations = {h100::wide * wide, h100::narrow * narrow, h100::cudnn_attention * narrow,
                         h100::attention * wide, h100::attention_backward * wide},
          .launch_seconds = launch_seconds_of_graphs};
}

Result<DeviceRates> DeviceRates::of_device(int index) {
  TROUPE_TRY(const auto clocks, clocks_of_device(index));
  return of(clocks);
}

Result<DeviceClocks> clocks_of_device(int index) {
  int major = 0, minor = 0, core_kilohertz = 0, memory_kilohertz = 0;
  DeviceClocks clocks;
  cudaDeviceProp properties = {};
  TROUPE_TRY(
      cuda_status(cudaGetDeviceProperties(&properties, index), "querying the properties", index));
  clocks.name = properties.name;
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
  const double rate = operations_per_second(traffic.operation_class);
  return 1e6 * (launch_seconds * traffic.launches +
                std::max(traffic.moved() / bytes_per_second, traffic.operations / rate));
}

} // namespace troupe::gpu
