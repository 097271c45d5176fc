/// Sensor values of a GPU.
#pragma once

#include "metrics/records/field.hpp"

#include <optional>
#include <string>
#include <tuple>

namespace troupe::metrics {

/// Values that the GPU does not report are empty.
struct GpuSample {
  int rank = 0;
  std::string gpu = {}; ///< DeviceInfo::id: "GPU-8932f937-..."
  std::optional<double> busy_ratio = {};
  std::optional<double> power_watts = {};
  std::optional<double> temperature_celsius = {};
  std::optional<double> sm_hertz = {}, memory_hertz = {};
  std::optional<double> memory_bytes = {}, memory_total_bytes = {};
};

namespace names {

constexpr M of_gpu(std::string_view name, std::string_view help) {
  return metric(name, gauge, every_node, help, "rank", "gpu");
}

inline constexpr M gpu_clock = metric("troupe_gpu_clock_hertz", gauge, every_node,
                                      "Clock frequency: sm, memory", "rank", "gpu", "clock");

} // namespace names

/// Measured by NVML; not exported without it.
template <>
inline constexpr auto fields_of<GpuSample> = std::tuple{
    field("busy_ratio", &GpuSample::busy_ratio,
          {.metric = names::of_gpu("troupe_gpu_busy_ratio",
                                   "Share of NVML's last sample period in which a kernel ran")}),
    field("power_watts", &GpuSample::power_watts,
          {.metric = names::of_gpu("troupe_gpu_power_watts", "Power draw")}),
    field("temperature_celsius", &GpuSample::temperature_celsius,
          {.metric = names::of_gpu("troupe_gpu_temperature_celsius", "Temperature")}),
    field("sm_hertz", &GpuSample::sm_hertz, {.metric = names::gpu_clock, .label = "sm"}),
    field("memory_hertz", &GpuSample::memory_hertz,
          {.metric = names::gpu_clock, .label = "memory"}),
    field("memory_bytes", &GpuSample::memory_bytes,
          {.metric = names::of_gpu("troupe_gpu_memory_bytes", "Memory in use, by all processes")}),
    field("memory_total_bytes", &GpuSample::memory_total_bytes,
          {.metric = names::of_gpu("troupe_gpu_memory_total_bytes", "Total memory")})};

} // namespace troupe::metrics
