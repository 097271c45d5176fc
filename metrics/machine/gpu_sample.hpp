/// Sensor values of a GPU.
#pragma once

#include <optional>
#include <string>

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

} // namespace troupe::metrics
