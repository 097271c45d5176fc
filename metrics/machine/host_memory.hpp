/// Memory limits of this process, and how much of each is used.
#pragma once

#include "core/cgroups.hpp"

#include <array>
#include <string>
#include <vector>

namespace troupe::metrics {

inline constexpr std::array memory_limits = {"host", "cgroup", "address_space"};

/// One limit of the process.
struct HostMemory {
  std::string limit; ///< one of memory_limits
  double bytes = 0;  ///< in use, against this limit
  double limit_bytes = 0;

  bool operator==(const HostMemory&) const = default;
};

/// Returns the limits that exist and can be read. Reads a few small files.
std::vector<HostMemory> host_memory(const SystemFiles& files = {});

} // namespace troupe::metrics
