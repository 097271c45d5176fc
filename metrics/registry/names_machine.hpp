/// Metrics of resource usage: memory, GPUs, the process.
#pragma once

#include "metrics/metric_name.hpp"

namespace troupe::metrics::names {

// Device memory, by MemoryKind. The totals include all kinds except pinned; their peak is the peak
// of the sum.
inline constexpr M memory{
    "troupe_memory_bytes", gauge, every_node, "Memory in use", {"rank", "kind"}};
inline constexpr M memory_peak{
    "troupe_memory_peak_bytes", gauge, every_node, "Peak memory", {"rank", "kind"}};
inline constexpr M memory_total{
    "troupe_memory_total_bytes", gauge, every_node, "Memory in use, all kinds", {"rank"}};
inline constexpr M memory_total_peak{
    "troupe_memory_total_peak_bytes", gauge, every_node, "Peak memory, all kinds", {"rank"}};
inline constexpr M memory_limit{"troupe_memory_limit_bytes",
                                gauge,
                                every_node,
                                "Memory of the rank's GPU; missing for CPUs",
                                {"rank"}};

// Memory limits of the process, by limit: host (the machine's memory; in use: without memory that
// can be freed at once), cgroup (the group nearest to its limit; in use: without its inactive
// files), address_space (RLIMIT_AS).
inline constexpr M host_memory{"troupe_host_memory_bytes",
                               gauge,
                               every_node,
                               "Memory in use that counts towards the limit",
                               {"limit"}};
inline constexpr M host_memory_limit{
    "troupe_host_memory_limit_bytes", gauge, every_node, "Memory limit", {"limit"}};

// A rank's GPU, measured by NVML; missing without NVML.
inline constexpr M gpu_busy{"troupe_gpu_busy_ratio",
                            gauge,
                            every_node,
                            "Share of NVML's last sample period in which a kernel ran",
                            {"rank", "gpu"}};
inline constexpr M gpu_power{
    "troupe_gpu_power_watts", gauge, every_node, "Power draw", {"rank", "gpu"}};
inline constexpr M gpu_temperature{
    "troupe_gpu_temperature_celsius", gauge, every_node, "Temperature", {"rank", "gpu"}};
inline constexpr M gpu_clock{"troupe_gpu_clock_hertz",
                             gauge,
                             every_node,
                             "Clock frequency: sm, memory",
                             {"rank", "gpu", "clock"}};
inline constexpr M gpu_memory{"troupe_gpu_memory_bytes",
                              gauge,
                              every_node,
                              "Memory in use, by all processes",
                              {"rank", "gpu"}};
inline constexpr M gpu_memory_total{
    "troupe_gpu_memory_total_bytes", gauge, every_node, "Total memory", {"rank", "gpu"}};

// The process, with the names that Prometheus's client libraries use.
inline constexpr M process_cpu{"process_cpu_seconds_total", counter, every_node,
                               "CPU time, user and system"};
inline constexpr M process_resident{"process_resident_memory_bytes", gauge, every_node,
                                    "Resident memory"};
inline constexpr M process_virtual{"process_virtual_memory_bytes", gauge, every_node,
                                   "Address space in use"};
inline constexpr M process_start{"process_start_time_seconds", gauge, every_node,
                                 "Start of the process, Unix time"};
inline constexpr M process_open_files{"process_open_fds", gauge, every_node, "Open files"};
inline constexpr M process_most_files{"process_max_fds", gauge, every_node,
                                      "Maximum number of open files"};
inline constexpr M process_threads{"process_threads", gauge, every_node, "Threads"};

} // namespace troupe::metrics::names
