/// JSON of the rates that kernels reach on a device.
#pragma once

#include "gpu/device_rates.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace troupe::bench {

/// {"bytes_per_second", "operations_per_second": by class, "launch_seconds"}
inline nlohmann::ordered_json rates_json(const gpu::DeviceRates& rates) {
  nlohmann::ordered_json operations;
  for (std::size_t i = 0; i < rates.operations.size(); ++i)
    operations[std::string{choice_words<gpu::OperationClass>[i]}] = rates.operations[i];
  return {{"bytes_per_second", rates.bytes_per_second},
          {"operations_per_second", operations},
          {"launch_seconds", rates.launch_seconds}};
}

} // namespace troupe::bench
