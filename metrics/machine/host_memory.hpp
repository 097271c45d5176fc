/// How much memory this process may still take before the system refuses it, or ends it.
#pragma once

#include "core/cgroups.hpp"

#include <array>
#include <string>
#include <vector>

namespace troupe::metrics {

inline constexpr std::array memory_limits = {"host", "cgroup", "address_space"};

/// One of the limits that hold for the process.
struct HostMemory {
  std::string limit; ///< of memory_limits
  double bytes = 0;  ///< in use of what is limited
  double limit_bytes = 0;

  bool operator==(const HostMemory&) const = default;
};

/// The limits that there are: what cannot be read is left out. Reads a few small files.
std::vector<HostMemory> host_memory(const SystemFiles& files = {});

} // namespace troupe::metrics
