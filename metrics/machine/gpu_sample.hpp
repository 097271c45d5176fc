/// What a GPU tells of itself while it works.
#pragma once

#include <optional>
#include <string>

namespace troupe::metrics {

/// What it cannot tell is empty.
struct GpuSample {
  int rank = 0;
  std::string gpu = {}; ///< DeviceInfo::id: "GPU-8932f937-..."
  std::optional<double> busy_ratio = {};
  std::optional<double> power_watts = {};
  std::optional<double> temperature_celsius = {};
  std::optional<double> sm_hertz = {}, memory_hertz = {};
  std::optional<double> memory_bytes = {}, memory_total_bytes = {};
};

} // namespace troupe::metrics
