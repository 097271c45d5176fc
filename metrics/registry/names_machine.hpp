/// Metrics of what a run uses of its machines: memory, GPUs, the process.
#pragma once

#include "metrics/registry/metric_name.hpp"

namespace troupe::metrics::names {

// Of devices, by kind as MemoryKind; the totals are of all kinds but pinned, at one time.
inline constexpr M memory{
    "troupe_memory_bytes", gauge, every_node, "Memory in use", {"rank", "kind"}};
inline constexpr M memory_peak{
    "troupe_memory_peak_bytes", gauge, every_node, "Peak", {"rank", "kind"}};
inline constexpr M memory_total{
    "troupe_memory_total_bytes", gauge, every_node, "In use, all kinds", {"rank"}};
inline constexpr M memory_total_peak{
    "troupe_memory_total_peak_bytes", gauge, every_node, "Peak, all kinds", {"rank"}};
inline constexpr M memory_limit{"troupe_memory_limit_bytes",
                                gauge,
                                every_node,
                                "Memory that the rank's GPU has; not told of processors",
                                {"rank"}};

// What the process may run into, by limit: host (the machine's memory, without what it can free at
// once), cgroup (of the tightest group that has a limit, without its inactive files), address_space
// (RLIMIT_AS).
inline constexpr M host_memory{
    "troupe_host_memory_bytes", gauge, every_node, "In use of what is limited", {"limit"}};
inline constexpr M host_memory_limit{
    "troupe_host_memory_limit_bytes", gauge, every_node, "The limit", {"limit"}};

// Of a rank's GPU, by NVML; not told where that is not there.
inline constexpr M gpu_busy{"troupe_gpu_busy_ratio",
                            gauge,
                            every_node,
                            "Part of NVML's last sample period in which a kernel ran",
                            {"rank", "gpu"}};
inline constexpr M gpu_power{
    "troupe_gpu_power_watts", gauge, every_node, "Power that it draws", {"rank", "gpu"}};
inline constexpr M gpu_temperature{
    "troupe_gpu_temperature_celsius", gauge, every_node, "Temperature", {"rank", "gpu"}};
inline constexpr M gpu_clock{
    "troupe_gpu_clock_hertz", gauge, every_node, "Clock: sm, memory", {"rank", "gpu", "clock"}};
inline constexpr M gpu_memory{"troupe_gpu_memory_bytes",
                              gauge,
                              every_node,
                              "Memory in use, by all processes",
                              {"rank", "gpu"}};
inline constexpr M gpu_memory_total{
    "troupe_gpu_memory_total_bytes", gauge, every_node, "Memory that it has", {"rank", "gpu"}};

// Of the process, by the names that Prometheus's clients give them.
inline constexpr M process_cpu{"process_cpu_seconds_total", counter, every_node,
                               "Processor time, user and system"};
inline constexpr M process_resident{"process_resident_memory_bytes", gauge, every_node,
                                    "Resident memory"};
inline constexpr M process_virtual{"process_virtual_memory_bytes", gauge, every_node,
                                   "Address space in use"};
inline constexpr M process_start{"process_start_time_seconds", gauge, every_node,
                                 "Start of the process, Unix time"};
inline constexpr M process_open_files{"process_open_fds", gauge, every_node, "Open files"};
inline constexpr M process_most_files{"process_max_fds", gauge, every_node,
                                      "Files that may be open"};
inline constexpr M process_threads{"process_threads", gauge, every_node, "Threads"};

} // namespace troupe::metrics::names
