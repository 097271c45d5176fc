/// Resource usage and memory limits of this process, as reported by Linux.
#pragma once

#include "core/cgroups.hpp"
#include "metrics/records/field.hpp"

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::metrics {

struct ProcessUse {
  double cpu_seconds = 0; ///< user and system
  double resident_bytes = 0, virtual_bytes = 0;
  double start_time = 0; ///< Unix time, seconds
  double threads = 0;
  double open_files = 0, most_files = 0;
};

/// Exported under the names that Prometheus's client libraries use.
template <>
inline constexpr auto fields_of<ProcessUse> = std::tuple{
    field("cpu_seconds", &ProcessUse::cpu_seconds,
          {.metric = {"process_cpu_seconds_total", names::counter, names::every_node,
                      "CPU time, user and system"},
           .is_total = true}),
    field("resident_bytes", &ProcessUse::resident_bytes,
          {.metric = {"process_resident_memory_bytes", names::gauge, names::every_node,
                      "Resident memory"}}),
    field("virtual_bytes", &ProcessUse::virtual_bytes,
          {.metric = {"process_virtual_memory_bytes", names::gauge, names::every_node,
                      "Address space in use"}}),
    field("start_time", &ProcessUse::start_time,
          {.metric = {"process_start_time_seconds", names::gauge, names::every_node,
                      "Start of the process, Unix time"}}),
    field("open_files", &ProcessUse::open_files,
          {.metric = {"process_open_fds", names::gauge, names::every_node, "Open files"}}),
    field("most_files", &ProcessUse::most_files,
          {.metric = {"process_max_fds", names::gauge, names::every_node,
                      "Maximum number of open files"}}),
    field("threads", &ProcessUse::threads,
          {.metric = {"process_threads", names::gauge, names::every_node, "Threads"}})};

/// Reads /proc/self; too slow for frequent calls. Returns empty if it cannot be read.
std::optional<ProcessUse> process_use();

/// A memory limit of the process, and how much of it is used.
struct HostMemory {
  std::string limit; ///< host, cgroup or address_space
  double bytes = 0;  ///< in use, against this limit
  double limit_bytes = 0;

  bool operator==(const HostMemory&) const = default;
};

/// Returns the limits that exist and can be read. Reads a few small files.
std::vector<HostMemory> host_memory(const SystemFiles& files = {});

} // namespace troupe::metrics
